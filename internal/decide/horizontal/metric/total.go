package metric

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// fromTotal judges a metric that is one value for the whole target, of an
// Object or summed over External series.
func fromTotal(spec *source.Spec, reading *Reading, c *Context, r *Result) string {
	usage := total(spec, reading, c)
	r.At, r.Oldest, r.Total = reading.At, reading.At, usage
	if spec.Target.Type == source.AverageValue {
		perReplica(spec, c, usage, r)
		return ""
	}
	r.Milli, r.Ratio = usage, float64(usage)/float64(spec.Target.Milli)
	r.Adjusted = r.Ratio
	return scaleValue(r, c)
}

// scaleValue multiplies the ratio with the ready pods (upstream:
// getUsageRatioReplicaCount). From zero the ratio alone is the count, and
// tolerance does not apply.
func scaleValue(r *Result, c *Context) string {
	if c.SpecReplicas == 0 {
		r.Replicas, r.Base, r.Verdict = c.arithmetic().Ceil32(r.Ratio), 1, Scaled
		return ""
	}
	r.Replicas, r.Verdict = c.SpecReplicas, WithinTolerance
	if c.Tolerance.within(r.Ratio) {
		return ""
	}
	if len(c.Pods) == 0 {
		return "unable to calculate ready pods: " + noPods
	}
	ready := readyPods(c.Pods)
	if ready == 0 && c.Divergences.Has(divergence.NoReadyPods) {
		r.Verdict = NothingReady
		return ""
	}
	surge := c.Divergences.Has(divergence.RolloutSurge)
	if surge {
		ready = min(ready, int64(c.SpecReplicas))
	}
	// Upstream guards this one product against overflow.
	proposed := arithmetic.Saturate.Ceil32(r.Ratio * float64(ready))
	if surge && againstDirection(r.Ratio, proposed, c.SpecReplicas) {
		r.Verdict = DirectionKept
		return ""
	}
	r.Replicas, r.Base, r.Verdict = proposed, ready, Scaled
	return ""
}

// perReplica judges the value for each replica (upstream:
// GetObjectPerPodMetricReplicas and GetExternalPerPodMetricReplicas). Upstream
// divides by the pods that exist, which a rollout's surge inflates.
func perReplica(spec *source.Spec, c *Context, usage int64, r *Result) {
	replicas := c.StatusReplicas
	if c.Divergences.Has(divergence.RolloutSurge) {
		replicas = c.SpecReplicas
	}
	r.Replicas, r.Verdict = replicas, WithinTolerance
	r.Ratio = float64(usage) / (float64(spec.Target.Milli) * float64(replicas))
	r.Adjusted = r.Ratio
	if !c.Tolerance.within(r.Ratio) {
		// Upstream guards the External product only.
		sum := c.arithmetic() || arithmetic.Mode(spec.Type == source.External)
		r.Replicas, r.Verdict = sum.Ceil32(float64(usage)/float64(spec.Target.Milli)), Scaled
	}
	r.Milli = shownAverage(spec, usage, replicas, c.arithmetic())
}

// shownAverage is the average that status shows. Without replicas there is
// none; the whole value, what one replica would get, stands in for it.
func shownAverage(spec *source.Spec, usage int64, replicas int32, sum arithmetic.Mode) int64 {
	if sum == arithmetic.Saturate && replicas == 0 {
		return usage
	}
	if spec.Type == source.External && float64(usage) >= math.MaxInt64 {
		return math.MaxInt64
	}
	return sum.Ceil64(float64(usage) / float64(replicas))
}

// total is the metric's value. Upstream adds up External series in two ways:
// for a Value target the sum is capped, for an AverageValue target the first
// negative sum reads as an overflow.
func total(spec *source.Spec, reading *Reading, c *Context) int64 {
	if spec.Type == source.Object {
		return reading.Series[0]
	}
	var usage int64
	for _, milli := range reading.Series {
		switch {
		case c.arithmetic() == arithmetic.Saturate:
			usage = arithmetic.Saturate.Add(usage, milli)
		case spec.Target.Type == source.AverageValue:
			if usage += milli; usage < 0 {
				return math.MaxInt64
			}
		case milli > 0 && usage > math.MaxInt64-milli:
			return math.MaxInt64
		default:
			usage += milli
		}
	}
	return usage
}
