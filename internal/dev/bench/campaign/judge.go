package campaign

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// Figures are the results of a play.
type Figures struct {
	// ShortSeconds is the time in which the load was above the capacity of the ready pods at 100 % of their requests, and
	// LackingPodSeconds the number of missing pods, summed up over those seconds.
	ShortSeconds      float64 `json:"shortSeconds"`
	LackingPodSeconds float64 `json:"lackingPodSeconds"`
	LostPercent       float64 `json:"lostPercent"`
	PodHours          float64 `json:"podHours"`
	// Actions are writes of the scale, Turns those against the direction of the one before.
	Actions float64 `json:"actions"`
	Turns   float64 `json:"turns"`
	// Overshoot is the largest count that was wanted, above what was needed between ten minutes before and half a minute
	// after it.
	Overshoot float64 `json:"overshoot"`
	// StartActions are writes of the scale within half a minute after the controllers started. The load has not changed
	// yet then.
	StartActions float64 `json:"startActions"`
	// FirstUpSeconds is the time from the first step of the load to the first scale-up; missing without one of them.
	FirstUpSeconds report.Figure `json:"firstUpSeconds"`
}

const (
	// neededBefore and neededAfter bound the seconds of which overshoot takes the largest need: upstream's window for
	// scaling down, twice, and the two intervals of a kubelet's samples that a decision may be ahead of the load's peak.
	neededBefore, neededAfter = 600, 30
	// startLasts is from when the controllers start until the beginning is over.
	startLasts = 30 * time.Second
)

// judge adds up what a case comes to, second by second.
type judge struct {
	c            *Case
	figures      Figures
	wanted, need []int
	// began is the time of the controllers' first decision; valid if hasBegun.
	began    time.Duration
	hasBegun bool
}

// second records the state at the end of a second.
func (j *judge) second(m *simulate.Moment) {
	j.wanted, j.need = append(j.wanted, m.Wanted), append(j.need, m.Need)
	if m.IsShort {
		j.figures.ShortSeconds++
		j.figures.LackingPodSeconds += m.Load - float64(m.Ready)
	}
}

// decided records a decision.
func (j *judge) decided(at time.Duration, d *horizontal.Decision) {
	if !j.hasBegun {
		j.began, j.hasBegun = at, true
	}
	if d.Rescale && at < j.began+startLasts {
		j.figures.StartActions++
	}
}

// finish is called after the last second.
func (j *judge) finish(run *simulate.Run) Figures {
	f, s := &j.figures, &run.Score
	f.PodHours, f.LostPercent, f.Actions, f.Turns = s.PodHours, s.LostPercent, float64(s.Actions), float64(s.Reverses)
	f.Overshoot = float64(overshoot(j.wanted, j.need, int(j.c.Min), int(j.c.Max)))
	f.FirstUpSeconds = report.Figure(firstUp(run.Changes, j.c.StepAt).Seconds())
	if f.FirstUpSeconds < 0 {
		f.FirstUpSeconds = report.Figure(math.NaN())
	}
	return *f
}

// overshoot is the most of wanted(t) - max(need(t-600) ... need(t+30)), where the need is within the limits; 0 if it is
// never above 0.
func overshoot(wanted, need []int, least, most int) int {
	largest, result := slidingMax{}, 0
	for t, next := 0, 0; t < len(wanted); t++ {
		for ; next < len(need) && next <= t+neededAfter; next++ {
			largest.add(next, need[next])
		}
		largest.forget(t - neededBefore)
		result = max(result, wanted[t]-min(most, max(least, largest.value())))
	}
	return result
}

// slidingMax is the largest of the values of a window. It has those that no later one exceeds, oldest first.
type slidingMax struct{ at, values []int }

func (s *slidingMax) add(at, value int) {
	for n := len(s.values); n > 0 && s.values[n-1] <= value; n-- {
		s.at, s.values = s.at[:n-1], s.values[:n-1]
	}
	s.at, s.values = append(s.at, at), append(s.values, value)
}

// forget leaves out what is before a time.
func (s *slidingMax) forget(before int) {
	for len(s.at) > 0 && s.at[0] < before {
		s.at, s.values = s.at[1:], s.values[1:]
	}
}

func (s *slidingMax) value() int {
	if len(s.values) == 0 {
		return 0
	}
	return s.values[0]
}

// firstUp returns the time from a step to the first scale-up; below 0 without one of them.
func firstUp(changes []simulate.Change, stepAt time.Duration) time.Duration {
	for i := range changes {
		if ch := &changes[i]; stepAt > 0 && ch.At >= stepAt && ch.To > ch.From {
			return ch.At - stepAt
		}
	}
	return -1
}
