package estimate

import (
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// Bound is one of the three amounts that are recommended.
type Bound uint8

// The bounds.
const (
	Lower Bound = iota
	Target
	Upper

	boundCount = 3
)

// String returns the API's name of the field.
func (b Bound) String() string { return [...]string{"lowerBound", "target", "upperBound"}[b] }

// Estimate has the number after each step of the computation of an amount.
type Estimate struct {
	Percentile float64
	// Used is that percentile of use.
	Used vertical.Amount
	// WithMargin is Used plus the margin.
	WithMargin vertical.Amount
	// Factor widens the bounds while there is little history:
	//
	//	(1 + 0.001/confidence)^-2 for the lower, 1 + 1/confidence for the upper
	Factor float64
	// Widened is WithMargin times the factor.
	Widened vertical.Amount
	// Floored is raised to the floor, Rounded is rounded up, and Capped is within the object's bounds.
	Floored, Rounded, Capped vertical.Amount
	// CappedBy is the bound that made Capped differ from Rounded.
	CappedBy Cap
}

// Cap is one of the bounds of the object and of the flags.
type Cap uint8

// The bounds.
const (
	NotCapped Cap = iota
	ByMinAllowed
	ByMaxAllowed
	// ByRecommender is the recommender's flag --container-recommendation-max-allowed-cpu or -memory.
	ByRecommender
)

// String names the bound.
func (c Cap) String() string {
	return [...]string{"", "minAllowed", "maxAllowed", "container-recommendation-max-allowed"}[c]
}

// capOf returns the bound that changed one amount to the other. A maximum takes precedence over a minimum.
func capOf(from, to vertical.Amount, r vertical.Resource, own *vertical.ContainerPolicy) Cap {
	least, _ := own.MinAllowed.Get(r)
	most, isOwn := own.MaxAllowed.Get(r)
	switch {
	case to == from:
		return NotCapped
	case to > from && to == least:
		return ByMinAllowed
	case isOwn && to == most:
		return ByMaxAllowed
	default:
		return ByRecommender
	}
}

// widening is the formula by which a bound depends on confidence: (1 + multiplier/confidence)^exponent.
type widening struct{ multiplier, exponent float64 }

var widenings = [boundCount]widening{Lower: {0.001, -2}, Upper: {1, 1}}

// Trace has the steps of a container's recommendation.
type Trace struct {
	Container string
	// Samples is the number of CPU samples.
	Samples int
	// Confidence is the length of the history in confidence intervals.
	Confidence [vertical.Resources]float64
	// Floor is the container's share of the pod's.
	Floor [vertical.Resources]vertical.Amount
	// Controlled marks the resources that are recommended, Skipped those of the object's that a horizontal autoscaler
	// controls.
	Controlled, Skipped [vertical.Resources]bool
	// Unmeasured marks the resources without a recommendation because they have neither a sample nor an out-of-memory
	// kill. The divergence first-sample omits them; without it none is omitted.
	Unmeasured [vertical.Resources]bool
	Estimates  [vertical.Resources][boundCount]Estimate
}

// Estimator makes recommendations of the containers of a pod.
type Estimator struct {
	policy *Policy
	floor  [vertical.Resources]vertical.Amount
}

// podMin returns the floor of a pod. Upstream takes CPU to cores and back.
func (p *Policy) podMin(r vertical.Resource) vertical.Amount {
	if r == vertical.CPU {
		return vertical.AmountOf(float64(p.PodMin[r]*0.001) * 1000)
	}
	return vertical.AmountOf(p.PodMin[r] * 1024 * 1024)
}

// For returns the estimator for a pod of that many containers, which share the floor.
func For(p *Policy, containers int) *Estimator {
	e := &Estimator{policy: p}
	for r := range vertical.Resource(vertical.Resources) {
		e.floor[r] = p.podMin(r).Scale(1 / float64(containers))
	}
	return e
}

// Container returns the recommendation for the containers of a name, and its steps. It omits skipped resources.
func (e *Estimator) Container(
	name string, c *usage.Container, skipped [vertical.Resources]bool,
) (vertical.Recommendation, Trace) {
	own := vertical.PolicyOf(e.policy.Containers, name)
	a := c.Merged(&e.policy.Usage)
	trace := Trace{Container: name, Samples: a.Samples(), Floor: e.floor, Controlled: own.Controlled}
	rec := vertical.Recommendation{Container: name}
	for r := range vertical.Resource(vertical.Resources) {
		trace.Skipped[r] = own.Controlled[r] && skipped[r]
		_, measured := a.Percentile(&e.policy.Usage, r, 1)
		trace.Unmeasured[r] = own.Controlled[r] && !skipped[r] && !measured && e.policy.Has(divergence.FirstSample)
		trace.Controlled[r] = own.Controlled[r] && !skipped[r] && !trace.Unmeasured[r]
		trace.Confidence[r] = c.Confidence(&e.policy.Usage, a, e.policy.ConfidenceInterval[r])
		if !trace.Controlled[r] {
			continue
		}
		for b := range Bound(boundCount) {
			trace.Estimates[r][b] = e.estimate(a, r, b, trace.Confidence[r])
		}
		if r == vertical.CPU && slices.Contains(e.policy.WholeCPUs, name) {
			roundToWhole(&trace.Estimates[r])
		}
		for b, amounts := range [boundCount]*vertical.Amounts{Lower: &rec.Lower, Target: &rec.Target, Upper: &rec.Upper} {
			*amounts = amounts.With(r, trace.Estimates[r][b].Rounded).In(r, formats[r])
		}
	}
	rec.Uncapped = rec.Target
	rec = bounds.Policy(rec, own, e.policy.MaxAllowed)
	for r := range vertical.Resource(vertical.Resources) {
		for b, amounts := range [boundCount]vertical.Amounts{Lower: rec.Lower, Target: rec.Target, Upper: rec.Upper} {
			made := &trace.Estimates[r][b]
			made.Capped, _ = amounts.Get(r)
			made.CappedBy = capOf(made.Rounded, made.Capped, r, &own)
		}
	}
	return rec, trace
}

// estimate computes one amount up to rounding.
func (e *Estimator) estimate(a *usage.Aggregate, r vertical.Resource, b Bound, confidence float64) Estimate {
	percentiles := &e.policy.Percentiles[r]
	percentile := [boundCount]float64{Lower: percentiles.Lower, Target: percentiles.Target, Upper: percentiles.Upper}[b]
	made := Estimate{Percentile: percentile, Factor: 1}
	made.Used, _ = a.Percentile(&e.policy.Usage, r, percentile)
	made.WithMargin = made.Used + made.Used.Scale(e.policy.MarginFraction)
	made.Widened = made.WithMargin
	if w := widenings[b]; w.exponent != 0 {
		made.Factor = math.Pow(1+w.multiplier/e.atLeast(confidence, r, b), w.exponent)
		made.Widened = e.finite(made.WithMargin.Scale(made.Factor), made.WithMargin, r, b)
	}
	made.Floored = max(made.Widened, e.floor[r])
	made.Rounded = e.policy.round(r, made.Floored)
	return made
}

// atLeast returns the confidence, with the divergence finite-upper at least that of one sample for the upper bound:
// without any it would be infinite.
func (e *Estimator) atLeast(confidence float64, r vertical.Resource, b Bound) float64 {
	if b == Upper && e.policy.Has(divergence.FiniteUpper) {
		return max(confidence, float64(time.Minute)/float64(e.policy.ConfidenceInterval[r]))
	}
	return confidence
}

// finite keeps the upper bound below the largest use that the histogram distinguishes: the
// start of the histogram's last bucket, about 1000 cores or 1 TB.
func (e *Estimator) finite(widened, from vertical.Amount, r vertical.Resource, b Bound) vertical.Amount {
	if b != Upper || !e.policy.Has(divergence.FiniteUpper) {
		return widened
	}
	most := vertical.AmountOf(histogram.ShapeOf(r, e.policy.Usage.HalfLife[r]).Max() * usage.UnitsOf(r))
	return min(widened, max(from, most))
}
