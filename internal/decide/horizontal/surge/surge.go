package surge

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Input has the inputs of the surge window. Readings and Results belong to Specs, index for index; Results are those of
// the stable window.
type Input struct {
	Specs    []source.Spec
	Readings []metric.Reading
	Results  []metric.Result
	Context  *metric.Context
}

// Result is the proposal of the surge window, with the numbers that led to it: those of the metric and the rule that
// came closest to a proposal.
type Result struct {
	Verdict Verdict
	// Metric is the metric's place among the specs.
	Metric int
	// Replicas is the proposed count; 0 if the evaluation ended earlier.
	Replicas int32
	// Intervals is the number of successive intervals that had to be above Factor times the target, and Span the longest
	// span of a pod's.
	Intervals int
	Factor    float64
	Span      time.Duration
	// Milli is the lowest of the intervals, as a mean over the pods that count, and Ratio that value divided by the
	// target.
	Milli int64
	Ratio float64
	// Adjusted is the ratio with the pods that share the load, and Base the number of replicas that it multiplied.
	Adjusted float64
	Base     int64
	// Counted is the number of pods used, Showing the number of those above the margin. Sharing counts the pods that have
	// taken over a share of the load since. Unasked counts the pods outside the sample, which have a share of the load,
	// too.
	Counted, Showing, Sharing, Unasked int
	// At is when the newest interval ended; zero if none has a time.
	At time.Time
	// Suspicious is set if some pod's newest interval is above the steep multiple.
	Suspicious bool
}

// Proposes reports whether the surge window makes a proposal.
func (r *Result) Proposes() bool { return r.Verdict == Asking }

// Verdict says at which check the evaluation ended.
type Verdict uint8

// The verdicts, each a step further than the one before.
const (
	// NoData: there are no samples, or the surge window is off.
	NoData Verdict = iota
	// BelowThreshold: the intervals are not all above the multiple of the target.
	BelowThreshold
	// BelowLeastCPU: they are, but with too little CPU.
	BelowLeastCPU
	// TooFewEvents: they are, but with too few events.
	TooFewEvents
	// TooFewPods: fewer than half of the pods show it, or a single one of several.
	TooFewPods
	// NotHigher: it would propose no more replicas than the present count or the stable window's proposal.
	NotHigher
	// Unhelped: it would propose more, as before, but the pods added since have not reduced the load of the others.
	Unhelped
	// Brief: too few pods have shown it for too short a time.
	Brief
	// Doubted: it would propose more, but the last surges were not confirmed.
	Doubted
	// Asking: it proposes more.
	Asking
)

// String names the verdict as explanations print it.
func (v Verdict) String() string {
	return [...]string{
		"nothing to look at", "no surge", "too little CPU", "too few events", "not in half of the pods",
		"no more than without it", "more pods did not help", "too brief for so few pods",
		"not believed after surges that were none", "asks for more",
	}[v]
}

// Evaluate returns the surge window's proposal.
func Evaluate(s *Settings, in *Input) Result {
	var best Result
	if s.Window <= 0 || !in.Context.Divergences.Has(divergence.SurgeWindow) {
		return best
	}
	for i := range in.Specs {
		if !in.isSeen(i) {
			continue
		}
		v := in.viewOf(s, i)
		suspicious := best.Suspicious || v.suspicious
		for k := range v.tallies {
			r := in.evaluate(s, i, &v, k)
			if r.Verdict > best.Verdict || r.Verdict == best.Verdict && r.Replicas > best.Replicas {
				best = r
			}
		}
		best.Suspicious = suspicious
	}
	return best
}

// Suspects appends the indices of the pods whose nodes are worth an early scrape, every node once. There are none while
// fewer than half of the pods show a surge: second samples of the same few would not change that.
func Suspects(s *Settings, in *Input, dst []int) []int {
	if s.Window <= 0 || !in.Context.Divergences.Has(divergence.SurgeWindow) {
		return dst
	}
	for i := range in.Specs {
		if in.isSeen(i) {
			dst = in.suspects(s, i, dst)
		}
	}
	return dst
}

func (in *Input) suspects(s *Settings, i int, dst []int) []int {
	before, counted, showing := len(dst), 0, 0
	for pod := range in.Context.Pods {
		recent := &in.Readings[i].Recent[pod]
		if !s.counts(in.Context, &in.Context.Pods[pod], recent) || in.isExcluded(i, pod) {
			continue
		}
		counted++
		target := in.targetOf(i, pod)
		if recent[0].Present && float64(recent[0].Milli) > s.Margin*target {
			showing++
		}
		if isSuspicious(s, &in.Specs[i], recent, target) && !slices.Contains(dst[:before], pod) {
			dst = append(dst, pod)
		}
	}
	if 2*showing < counted {
		return dst[:before]
	}
	return dst
}

// isSeen reports whether metric i has single intervals. They also count if the average may include the startup of the
// pods: they are only of pods whose startup had ended before.
func (in *Input) isSeen(i int) bool {
	spec, pods := &in.Specs[i], len(in.Context.Pods)
	return pods > 0 && (spec.IsCPU() || spec.IsPodEndpoint()) &&
		i < len(in.Readings) && len(in.Readings[i].Recent) == pods && i < len(in.Results) && in.Results[i].Failure == nil &&
		(!in.Results[i].Pending || in.Results[i].IsStart)
}

func (in *Input) targetOf(i, pod int) float64 {
	target := &in.Specs[i].Target
	switch {
	case in.Specs[i].IsShared():
		return float64(target.Milli) / float64(max(1, in.Results[i].Counts.Pods()))
	case target.Type != source.Utilization:
		return float64(target.Milli)
	}
	return float64(in.Readings[i].Requests[pod].Milli) * float64(target.Percent) / 100
}

// isExcluded reports whether the metric does not include the pod: it does not have the metric's container, or is
// outside the sample.
func (in *Input) isExcluded(i, pod int) bool {
	requests := in.Readings[i].Requests
	return pod < len(requests) && requests[pod].Missing != metric.RequestSet || in.isUnsampled(i, pod)
}

func (in *Input) isUnsampled(i, pod int) bool {
	samples := in.Readings[i].Samples
	return pod < len(samples) && samples[pod].Unsampled && !samples[pod].Present
}

// view has the totals over the pods that count for a metric.
type view struct {
	counted    int
	wanted     float64
	newest     time.Time
	suspicious bool
	// tallies are of two intervals in a row, and of three.
	tallies [2]tally
}

// tally adds up the lowest of some intervals in a row.
type tally struct {
	used           float64
	known, showing int
	span           time.Duration
}

func (t *tally) add(milli int64, span time.Duration, least float64) {
	use := float64(milli)
	t.used += use
	t.known++
	if use > least {
		t.showing++
	}
	t.span = max(t.span, span)
}

// viewOf adds up the pods. One that counts without enough intervals is assumed to use nothing, as upstream does on the
// way up: assumptions make the change smaller.
func (in *Input) viewOf(s *Settings, i int) (v view) {
	for pod := range in.Context.Pods {
		recent := &in.Readings[i].Recent[pod]
		if !s.counts(in.Context, &in.Context.Pods[pod], recent) || in.isExcluded(i, pod) {
			continue
		}
		target := in.targetOf(i, pod)
		v.counted++
		v.wanted += target
		v.suspicious = v.suspicious || s.isSteep(&recent[0], target)
		if recent[0].Present && recent[0].At.After(v.newest) {
			v.newest = recent[0].At
		}
		s.add(recent, s.Margin*target, &v.tallies)
	}
	return v
}

// evaluate returns the result of one of the tallies.
func (in *Input) evaluate(s *Settings, i int, v *view, k int) Result {
	t := &v.tallies[k]
	r := Result{
		Metric: i, Intervals: k + 2, Factor: [...]float64{s.SteepFactor, s.Margin}[k], Span: t.span,
		Counted: v.counted, Showing: t.showing, At: v.newest,
	}
	if t.known == 0 || !(v.wanted > 0) {
		return r
	}
	average := t.used / float64(v.counted)
	r.Milli, r.Ratio = arithmetic.Saturate.Ceil64(average), t.used/v.wanted
	if r.Verdict = in.verdict(s, &r, average); r.Verdict == Asking {
		in.propose(s, &r, total{used: t.used, wanted: v.wanted})
	}
	return r
}

// verdict returns the check at which the numbers fail, or Asking. If the margin is within the tolerance, the tolerance
// applies.
func (in *Input) verdict(s *Settings, r *Result, averageMilli float64) Verdict {
	enough := s.isEnough(&in.Specs[r.Metric], averageMilli, r.Span/time.Duration(r.Intervals))
	switch {
	case !(r.Ratio > max(r.Factor, 1+in.Context.Tolerance.Up)):
		return BelowThreshold
	case enough != Asking:
		return enough
	case 2*r.Showing < r.Counted, r.Showing < min(2, r.Counted):
		return TooFewPods
	default:
		return Asking
	}
}

// carrying returns the number of pods with a share of the load.
func (r *Result) carrying() int { return r.Counted + r.Sharing + r.Unasked }

// total is the use of pods, and their targets.
type total struct{ used, wanted float64 }

// propose computes how many replicas the surge needs.
//
// Pods that have just become ready are no evidence, but they have taken over a share of the load: without it the
// proposal would fall as soon as they help. They count with the first interval in which they were ready, and with at
// most the mean of the others, because the rest is their start.
func (in *Input) propose(s *Settings, r *Result, sum total) {
	c := in.Context
	began := r.At.Add(-r.Span / time.Duration(r.Intervals))
	for pod := range c.Pods {
		if in.isUnsampled(r.Metric, pod) && isReady(&c.Pods[pod]) && !c.Pods[pod].ReadyTransition.After(began) {
			r.Unasked++
		}
		intervals := &in.Readings[r.Metric].Recent[pod]
		if s.counts(c, &c.Pods[pod], intervals) || in.isExcluded(r.Metric, pod) {
			continue
		}
		newest := &intervals[0]
		if !shares(&c.Pods[pod], newest) {
			continue
		}
		target := in.targetOf(r.Metric, pod)
		sum.used += min(float64(newest.Milli), r.Ratio*target)
		sum.wanted += target
		r.Sharing++
	}
	r.Adjusted = sum.used / sum.wanted
	// As for the stable window, the surge pods of a rollout are not multiplied.
	r.Base = int64(r.carrying())
	if c.Divergences.Has(divergence.RolloutSurge) {
		r.Base = min(r.Base, int64(c.SpecReplicas))
	}
	r.Replicas = arithmetic.Saturate.Ceil32(r.Adjusted * float64(r.Base))
	if r.Replicas <= max(c.SpecReplicas, in.Results[r.Metric].Replicas) {
		r.Verdict = NotHigher
	}
}
