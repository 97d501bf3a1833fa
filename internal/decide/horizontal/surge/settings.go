// Package surge is the short window over CPU use and metrics of the pods' own endpoints. The stable window, an average
// over about 15 s, decides every count; at first it shows little of a load that has just grown tenfold. The surge
// window looks at the last single intervals between two scrapes instead, and may only ask for more.
//
// Seconds are noisy, so that one of them proves nothing. Two successive intervals must be above a steep multiple of the
// target, or three above a clear margin, and the proposal follows from the lowest of them, pod by pod. They span more
// than a burst of a second can reach, and at least half of the pods must show the surge: a rising load reaches all
// pods, a hot pod is one alone. Pods that have just become ready are no evidence, because their start uses CPU. If a
// part of the pods is sampled, it stands for all.
//
// Every decision evaluates this anew. History has the outcome of earlier surges.
package surge

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// shortest is the shortest span of intervals that count as evidence: of two together, of three the middle one. A burst
// of a second or less cannot fill all of them, even if one is short because its node was scraped early. The campaign's
// sums are the same with half of it; with twice, nothing is left of the surge window.
const shortest = 900 * time.Millisecond

// leastEvents is the smallest number of events in an interval of a rate. With fewer, large multiples occur by chance.
const leastEvents = 10

// Settings say when the surge window proposes replicas. The zero value never does.
type Settings struct {
	// Window is the longest span of the intervals; 0 means that there is no surge window. Longer intervals show no more
	// than the stable window. The campaign's sums with default kubelets and with agents are the same with half of the
	// default and with twice: intervals take a second or less, or 10 s and more.
	Window time.Duration
	// SteepFactor is the multiple of the target for two intervals, Margin that for three.
	SteepFactor, Margin float64
	// LeastCPUMilli is the smallest mean use of the pods. Below it even a large multiple matters little.
	LeastCPUMilli int64
	// ReadyFor is the time for which a pod must have been ready when the intervals begin.
	ReadyFor time.Duration
}

// Defaults returns settings with which noise causes no scaling in measurements. With a margin of 1.4 a load that varies
// by half from second to second is sometimes treated as a surge; with 1.5 it is not.
func Defaults() Settings {
	return Settings{Window: 10 * time.Second, SteepFactor: 8, Margin: 1.5, LeastCPUMilli: 50, ReadyFor: metric.PodStart}
}

// isSuspicious reports whether a pod's newest interval alone is above the steep multiple of its target: a second one,
// which an early scrape of its node gives at once, would decide. After a short one it would not, because two short ones
// are no evidence.
func isSuspicious(s *Settings, spec *source.Spec, last *metric.Recent, wantedMilli float64) bool {
	newest := &last[0]
	return s.isSteep(newest, wantedMilli) && newest.Window >= shortest &&
		s.isEnough(spec, float64(newest.Milli), newest.Window) == Asking && !s.isSteep(&last[1], wantedMilli)
}

// isEnough returns Asking, or why the value of an interval is too small for a surge, whatever its multiple of the
// target.
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

// counts reports whether the surge window uses a pod: its start must have ended before the intervals began. Otherwise
// its start would lead to more pods, and their starts to more again. The interval's time and that of becoming ready are
// by the clock of one node.
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

// shares reports whether a pod that does not count was ready during the interval. The API truncates the time to
// seconds: a short interval may be entirely within the second before, and show only the pod's start.
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

// add adds the lowest of the pod's last two intervals to one tally and the lowest of its last three to the other, if it
// has as many, and if they span neither too little nor too much. A pod shows a surge with more than least.
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

// isDense reports whether there are several samples a second. Two intervals span hardly more than a burst of a second
// then, and three hardly more than two seconds: only three count as evidence.
func isDense(recent *metric.Recent) bool {
	return isUse(&recent[2]) && recent[0].Window < averaging.Dense && recent[2].Window < averaging.Dense
}

func isUse(interval *metric.Sample) bool {
	return interval.Present && interval.Milli >= 0 && interval.Window > 0
}
