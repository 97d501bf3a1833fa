package surge

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Input is what the surge window is judged by. Readings and Results belong to
// Specs, index for index; Results are what the stable window made of the metrics.
type Input struct {
	Specs    []metric.Spec
	Readings []metric.Reading
	Results  []metric.Result
	Context  *metric.Context
}

// Result is what the surge window asks for, with the numbers that led there: those
// of the metric and the rule that came nearest to asking.
type Result struct {
	Verdict Verdict
	// Metric is the metric's place among the specs.
	Metric int
	// Replicas is the wanted count; 0 where the verdict came before it.
	Replicas int32
	// Intervals is how many in a row had to be above Factor times the target, and
	// Span the longest time that a pod's span.
	Intervals int
	Factor    float64
	Span      time.Duration
	// Milli is the lowest of the intervals, on average over the pods, and Ratio what
	// it is of the target.
	Milli int64
	Ratio float64
	// Base is the number of replicas that the ratio was multiplied with.
	Base int64
	// Counted is how many pods were looked at, Showing how many of them are above the
	// margin each.
	Counted, Showing int
	// At is when the newest interval ended; zero if none says.
	At time.Time
}

// Asks reports whether the surge window makes a proposal.
func (r *Result) Asks() bool { return r.Verdict == Asking }

// Verdict is how far the surge window came.
type Verdict uint8

// The verdicts, each a step further than the one before.
const (
	// Blind: there is nothing to look at, or the surge window is off.
	Blind Verdict = iota
	// Calm: the intervals are not all above the multiple of the target.
	Calm
	// Slight: they are, but of too little CPU.
	Slight
	// Lopsided: fewer than half of the pods show it.
	Lopsided
	// NoMore: it would ask for no more replicas than there are or the stable window
	// asks for.
	NoMore
	// Asking: it asks for more.
	Asking
)

// String names the verdict as explanations print it.
func (v Verdict) String() string {
	return [...]string{
		"nothing to look at", "no surge", "too little CPU", "not in half of the pods", "no more than without it", "asks for more",
	}[v]
}

// Evaluate says whether and for how many replicas the surge window asks.
func Evaluate(s *Settings, in *Input) Result {
	var best Result
	if s.Window <= 0 || !in.Context.Divergences.Has(divergence.SurgeWindow) {
		return best
	}
	for i := range in.Specs {
		if !in.isSeen(i) {
			continue
		}
		for _, rule := range s.rules() {
			r := in.judge(s, i, rule)
			if r.Verdict > best.Verdict || r.Verdict == best.Verdict && r.Replicas > best.Replicas {
				best = r
			}
		}
	}
	return best
}

// Suspects appends the places of the pods whose nodes are worth an early scrape.
func Suspects(s *Settings, in *Input, dst []int) []int {
	if s.Window <= 0 || !in.Context.Divergences.Has(divergence.SurgeWindow) {
		return dst
	}
	for pod := range in.Context.Pods {
		if !s.counts(&in.Context.Pods[pod], in.Context.Now) {
			continue
		}
		for i := range in.Specs {
			if in.isSeen(i) && !in.lacks(i, pod) && Suspicious(s, &in.Readings[i].Recent[pod], in.wanted(i, pod)) {
				dst = append(dst, pod)
				break
			}
		}
	}
	return dst
}

// isSeen reports whether metric i is CPU use that has single intervals.
func (in *Input) isSeen(i int) bool {
	spec, pods := &in.Specs[i], len(in.Context.Pods)
	return pods > 0 && spec.Name == metric.CPU && (spec.Type == metric.Resource || spec.Type == metric.ContainerResource) &&
		i < len(in.Readings) && len(in.Readings[i].Recent) == pods && i < len(in.Results) && in.Results[i].Failure == nil
}

// wanted is what the pod is to use, in milli-cores.
func (in *Input) wanted(i, pod int) float64 {
	target := &in.Specs[i].Target
	if target.Type != metric.Utilization {
		return float64(target.Milli)
	}
	return float64(in.Readings[i].Requests[pod].Milli) * float64(target.Percent) / 100
}

// lacks reports whether the pod has no target to be compared with: it does not
// have the metric's container.
func (in *Input) lacks(i, pod int) bool {
	requests := in.Readings[i].Requests
	return pod < len(requests) && requests[pod].Missing != metric.RequestSet
}

// judge applies one rule to one metric. A pod that counts and has not enough
// intervals is taken to use nothing, as upstream does on the way up: what is not
// known makes the change smaller.
func (in *Input) judge(s *Settings, i int, by rule) Result {
	r := Result{Metric: i, Intervals: by.intervals, Factor: by.factor}
	var used, wanted float64
	known := 0
	for pod := range in.Context.Pods {
		if !s.counts(&in.Context.Pods[pod], in.Context.Now) || in.lacks(i, pod) {
			continue
		}
		r.Counted++
		target, recent := in.wanted(i, pod), &in.Readings[i].Recent[pod]
		wanted += target
		milli, span, ok := s.lowest(recent, by.intervals)
		if !ok {
			continue
		}
		known++
		used += float64(milli)
		if float64(milli) > s.Margin*target {
			r.Showing++
		}
		r.Span = max(r.Span, span)
		if at := recent[0].At; at.After(r.At) {
			r.At = at
		}
	}
	if known == 0 || !(wanted > 0) {
		return r
	}
	average := used / float64(r.Counted)
	r.Milli, r.Ratio = arithmetic.Saturate.Ceil64(average), used/wanted
	r.Verdict = in.verdict(s, &r, average)
	return r
}

// verdict is how far the numbers lead. The margin may be inside of the tolerance,
// which then holds.
func (in *Input) verdict(s *Settings, r *Result, averageMilli float64) Verdict {
	c := in.Context
	switch {
	case !(r.Ratio > max(r.Factor, 1+c.Tolerance.Up)):
		return Calm
	case averageMilli < float64(s.LeastCPUMilli):
		return Slight
	case 2*r.Showing < r.Counted:
		return Lopsided
	}
	// As for the stable window, the surge pods of a rollout are not multiplied.
	r.Base = int64(r.Counted)
	if c.Divergences.Has(divergence.Surge) {
		r.Base = min(r.Base, int64(c.SpecReplicas))
	}
	r.Replicas = arithmetic.Saturate.Ceil32(r.Ratio * float64(r.Base))
	if r.Replicas <= max(c.SpecReplicas, in.Results[r.Metric].Replicas) {
		return NoMore
	}
	return Asking
}
