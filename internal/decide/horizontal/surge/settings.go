// Package surge is the short window over CPU use. The stable window, an average
// over about 15 s, decides every count; of a load that has just become ten times
// what it was it shows little at first. The surge window looks at the last single
// intervals between two scrapes instead, and may only ask for more.
//
// Seconds are noisy, so that one of them proves nothing. In a row, two intervals
// must be above a steep multiple of the target, or three above a clear margin, and
// what is asked for is what the lowest of them needs, pod by pod. What they span is
// longer than a burst of a second can reach, and at least half of the pods must
// show it: a load that rises is everybody's, a pod that runs hot is not. Pods that
// have just become ready are left out, as their start costs CPU.
//
// All this is judged anew at each decision: there is no state.
package surge

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// shortest is what agreeing intervals outlast: two of them together, of three the
// one in the middle. Whatever lasts a second or less cannot be in all of them in
// full, also if one of them is short because its node was scraped early.
const shortest = 900 * time.Millisecond

// Settings say when the surge window asks. The zero value never does.
type Settings struct {
	// Window is the most that the agreeing intervals may span; 0 means that there is
	// no surge window. Intervals that take longer say no more than the stable window.
	Window time.Duration
	// SteepFactor is the multiple of the target that two intervals must be above,
	// Margin the one that three must be above.
	SteepFactor, Margin float64
	// LeastCPUMilli is what the pods must use at least, on average. Below it a large
	// multiple is a small thing.
	LeastCPUMilli int64
	// ReadyFor is how long a pod must have been ready to count.
	ReadyFor time.Duration
}

// Defaults are what make bench-noise found to add no scaling to noise.
func Defaults() Settings {
	return Settings{Window: 10 * time.Second, SteepFactor: 8, Margin: 1.5, LeastCPUMilli: 50, ReadyFor: 15 * time.Second}
}

// rule is how many intervals in a row must be above which multiple of the target.
type rule struct {
	intervals int
	factor    float64
}

func (s *Settings) rules() [2]rule { return [...]rule{{2, s.SteepFactor}, {3, s.Margin}} }

// Suspicious reports whether a pod's newest interval alone is above the steep
// multiple of what the pod is to use: a second one, which scraping its node early
// gives at once, would decide.
func Suspicious(s *Settings, recent *metric.Recent, wantedMilli float64) bool {
	newest := &recent[0]
	return newest.Present && newest.Milli >= s.LeastCPUMilli && s.isSteep(newest, wantedMilli) &&
		!(recent[1].Present && s.isSteep(&recent[1], wantedMilli))
}

func (s *Settings) isSteep(interval *metric.Sample, wantedMilli float64) bool {
	return float64(interval.Milli) > s.SteepFactor*wantedMilli
}

// counts reports whether the surge window looks at a pod.
func (s *Settings) counts(pod *metric.Pod, now time.Time) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting && pod.Ready == metric.ReadyTrue &&
		now.Sub(pod.ReadyTransition) >= s.ReadyFor
}

// lowest is the least of the newest n intervals and what they span; false if there
// are fewer, or if they span too little or too much.
func (s *Settings) lowest(recent *metric.Recent, n int) (milli int64, span time.Duration, ok bool) {
	for i := range n {
		interval := &recent[i]
		if !interval.Present || interval.Milli < 0 || interval.Window <= 0 {
			return 0, 0, false
		}
		if i == 0 || interval.Milli < milli {
			milli = interval.Milli
		}
		span += interval.Window
	}
	between := span
	if n > 2 {
		between -= recent[0].Window + recent[n-1].Window
	}
	return milli, span, between >= shortest && span <= s.Window
}
