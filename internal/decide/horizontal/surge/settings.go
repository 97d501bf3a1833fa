// Package surge is the short window over CPU use and metrics of the pods' own
// endpoints. The stable window, an average over about 15 s, decides every count; of a
// load that has just become ten times what it was it shows little at first. The surge
// window looks at the last single intervals between two scrapes instead, and may only
// ask for more.
//
// Seconds are noisy, so that one of them proves nothing. In a row, two intervals
// must be above a steep multiple of the target, or three above a clear margin, and
// what is asked for is what the lowest of them needs, pod by pod. What they span is
// longer than a burst of a second can reach, and at least half of the pods must
// show it: a rising load reaches all pods, a hot pod is one alone. Pods that
// have just become ready are no evidence, as their start costs CPU. Where a part of the
// pods is sampled, that part stands for all.
//
// All this is evaluated anew at every decision. History has how earlier surges turned
// out.
package surge

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// shortest is what agreeing intervals outlast: two of them together, of three the
// one in the middle. Whatever lasts a second or less cannot be in all of them in
// full, also if one of them is short because its node was scraped early.
const shortest = 900 * time.Millisecond

// leastEvents is how many events an interval of a rate must have. Of fewer, a large
// multiple comes by chance.
const leastEvents = 10

// Settings say when the surge window asks. The zero value never does.
type Settings struct {
	// Window is the most that the agreeing intervals may span; 0 means that there is
	// no surge window. Intervals that take longer say no more than the stable window. The campaign's sums
	// with default kubelets and with agents are the same with half of the default and with twice: intervals take a
	// second or less, or 10 s and more.
	Window time.Duration
	// SteepFactor is the multiple of the target that two intervals must be above,
	// Margin the one that three must be above.
	SteepFactor, Margin float64
	// LeastCPUMilli is what the pods must use at least, on average. Below it a large
	// multiple is a small thing.
	LeastCPUMilli int64
	// ReadyFor is how long a pod must have been ready when the intervals begin.
	ReadyFor time.Duration
}

// Defaults returns what earlier measurements of noise found to add no scaling to it. With a margin of 1.4 a load that
// differs by half from second to second is now and then taken for a surge; with 1.5 it is not.
func Defaults() Settings {
	return Settings{Window: 10 * time.Second, SteepFactor: 8, Margin: 1.5, LeastCPUMilli: 50, ReadyFor: metric.PodStart}
}

// isSuspicious reports whether a pod's newest interval alone is above the steep
// multiple of what the pod is to use: a second one, which scraping its node early
// gives at once, would decide. After a short one it would not, as two short ones do
// not agree.
func isSuspicious(s *Settings, spec *source.Spec, last *metric.Recent, wantedMilli float64) bool {
	newest := &last[0]
	return s.isSteep(newest, wantedMilli) && newest.Window >= shortest &&
		s.isEnough(spec, float64(newest.Milli), newest.Window) == Asking && !s.isSteep(&last[1], wantedMilli)
}

// isEnough returns Asking, or why the value of an interval is too small to be a surge, whatever multiple of the target
// it is.
func (s *Settings) isEnough(spec *source.Spec, milli float64, interval time.Duration) Verdict {
	switch {
	case spec.IsCPU() && milli < float64(s.LeastCPUMilli):
		return BelowLeastCPU
	case spec.IsRate && milli*interval.Seconds() < 1000*leastEvents:
		return TooFewEvents
	default:
		return Asking
	}
}

func (s *Settings) isSteep(interval *metric.Sample, wantedMilli float64) bool {
	return interval.Present && float64(interval.Milli) > s.SteepFactor*wantedMilli
}

// counts reports whether the surge window uses a pod: one whose start had ended before the intervals began. Otherwise
// its start would lead to more pods, and theirs to more again. The interval's time and that of becoming ready are by
// the clock of one node.
func (s *Settings) counts(c *metric.Context, pod *metric.Pod, intervals *metric.Recent) bool {
	if !isReady(pod) {
		return false
	}
	began := arithmetic.Nanos(c.Now)
	for i := range intervals {
		if isUse(&intervals[i]) && !intervals[i].At.IsZero() {
			began = arithmetic.Nanos(intervals[i].At) - int64(intervals[i].Window)
		}
	}
	return arithmetic.Nanos(pod.ReadyTransition) <= began-int64(s.ReadyFor)
}

// shares reports whether a pod that does not count was ready during the interval. The API truncates
// the time to seconds: a short interval may lie within the second before as a whole, and show
// nothing but the pod's start.
func shares(pod *metric.Pod, interval *metric.Sample) bool {
	since := pod.ReadyTransition
	if interval.Window < averaging.Dense {
		since = since.Add(time.Second)
	}
	return isReady(pod) && interval.Present && interval.Milli >= 0 && !interval.At.Add(-interval.Window).Before(since)
}

func isReady(pod *metric.Pod) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting && pod.Ready == metric.ReadyTrue
}

// add adds the lowest of the pod's last two intervals to the one tally and the lowest
// of its last three to the other, where there are as many, and where they span
// neither too little nor too much. A pod shows a surge with more than least.
func (s *Settings) add(recent *metric.Recent, least float64, tallies *[2]tally) {
	newest, middle, oldest := &recent[0], &recent[1], &recent[2]
	if !isUse(newest) || !isUse(middle) {
		return
	}
	milli, span := min(newest.Milli, middle.Milli), newest.Window+middle.Window
	if span >= shortest && span <= s.Window && !isDense(recent) {
		tallies[0].add(milli, span, least)
	}
	if !isUse(oldest) {
		return
	}
	span += oldest.Window
	if middle.Window >= shortest && span <= s.Window {
		tallies[1].add(min(milli, oldest.Milli), span, least)
	}
}

// isDense reports whether the intervals are of samples that come several times a second. The first two span
// hardly more than a burst of a second then, and three hardly more than two: three decide alone.
func isDense(recent *metric.Recent) bool {
	return isUse(&recent[2]) && recent[0].Window < averaging.Dense && recent[2].Window < averaging.Dense
}

func isUse(interval *metric.Sample) bool {
	return interval.Present && interval.Milli >= 0 && interval.Window > 0
}
