package summary

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// minText is "minReplicas is 3", with the schedule that it is of, and until when.
func (w *writer) minText() string {
	r := &w.Schedules
	if r.MaxWins {
		return w.maxText()
	}
	return fmt.Sprintf("minReplicas%s is %d", ofSchedule(r.MinBy), w.Bounds.MinReplicas) + w.lasts(r.MinBy, isMin) +
		w.others(r.MinBy, isMin)
}

func (w *writer) maxText() string {
	by := w.Schedules.MaxBy
	return fmt.Sprintf("maxReplicas%s is %d", ofSchedule(by), w.Bounds.MaxReplicas) + w.lasts(by, isMax) +
		w.others(by, isMax)
}

// ofSchedule is ` of schedule "night"`; empty where a bound is the spec's.
func ofSchedule(s *schedules.Schedule) string {
	if s == nil {
		return ""
	}
	return " of " + s.Describe()
}

// bound is one of the two.
type bound bool

const (
	isMin bound = false
	isMax bound = true
)

// of is the bound now, and the one of the schedule in force; 0 where it has none.
func (b bound) of(f *schedules.InForce) (now, goal int32) {
	if b == isMax {
		return f.MaxReplicas, f.Schedule.MaxReplicas
	}
	return f.MinReplicas, f.Schedule.MinReplicas
}

// lasts is " until 17:00:00", as long as the schedule is in force that a bound is of, or until the next step of its
// ramp, with where that leads and by when; empty for the spec's.
func (w *writer) lasts(by *schedules.Schedule, b bound) string {
	f := w.inForce(by)
	switch {
	case f == nil:
		return ""
	case f.IsRamp:
		return w.ramps(f, b)
	case f.Until.IsZero():
		return ""
	}
	w.said = append(w.said, by)
	return " until " + w.clock(f.Until)
}

// inForce is what is in force of a schedule; nil if nothing is.
func (w *writer) inForce(by *schedules.Schedule) *schedules.InForce {
	for i := range w.Schedules.InForce {
		if f := &w.Schedules.InForce[i]; f.Schedule == by {
			return f
		}
	}
	return nil
}

// ramps is until when the bound of a ramp stays, where it goes and by when.
func (w *writer) ramps(f *schedules.InForce, b bound) string {
	now, goal := b.of(f)
	w.said = append(w.said, f.Schedule)
	if now == goal {
		const reached = ", reached by rampSeconds %.0f before it starts at %s"
		return fmt.Sprintf(reached, f.Schedule.Ramp.Seconds(), w.clock(f.Until))
	}
	text, direction := "", "rising"
	if b == isMax {
		direction = "falling"
	}
	if next := &w.Schedules.Next; next.Schedule == f.Schedule && next.Kind == schedules.RampStep {
		text = " until " + w.clock(next.At)
	}
	return fmt.Sprintf("%s, %s to %d by %s", text, direction, goal, w.clock(f.Until))
}

// others is why the bound applies and no other that is in force: the highest min does, the lowest max, and where they
// contradict each other the max. A schedule with the same bound is named as well: both hold the count.
func (w *writer) others(by *schedules.Schedule, b bound) string {
	text := ""
	if w.Schedules.MaxWins {
		w.isContradictionSaid = true
		text = fmt.Sprintf(", which wins over minReplicas %d of %s", w.leastWanted(), w.Schedules.MinBy.Describe())
	}
	var same, than []*schedules.InForce
	for i := range w.Schedules.InForce {
		f := &w.Schedules.InForce[i]
		switch now, _ := b.of(f); {
		case f.Schedule == by || now <= 0:
		case now == w.of(b):
			same = append(same, f)
		default:
			than = append(than, f)
		}
	}
	if len(same) > 0 {
		w.name(b.ofSchedule())
		return text + fmt.Sprintf(" (as in %s)", same[0].Schedule.Describe())
	}
	return text + b.compared(than)
}

// ofSchedule is the limit that a schedule with the bound is.
func (b bound) ofSchedule() projection.Limit {
	if b == isMax {
		return projection.ScheduleMax
	}
	return projection.ScheduleMin
}

// compared is than which other bounds the one that applies is higher or lower.
func (b bound) compared(than []*schedules.InForce) string {
	comparison := "higher"
	if b == isMax {
		comparison = "lower"
	}
	switch len(than) {
	case 0:
		return ""
	case 1:
		now, _ := b.of(than[0])
		return fmt.Sprintf(" (%s than %d of %s)", comparison, now, than[0].Schedule.Describe())
	}
	return fmt.Sprintf(" (%s than those of %d other schedules)", comparison, len(than))
}

// of is the bound that applies.
func (w *writer) of(b bound) int32 {
	if b == isMax {
		return w.Bounds.MaxReplicas
	}
	return w.Bounds.MinReplicas
}

// leastWanted is the min that is above the max.
func (w *writer) leastWanted() int32 {
	if f := w.inForce(w.Schedules.MinBy); f != nil {
		return f.MinReplicas
	}
	return w.Policy.MinReplicas
}

// contradiction says which bound applies where the highest min is above the lowest max, if the sentence does not yet.
func (w *writer) contradiction() string {
	if !w.Schedules.MaxWins || w.isContradictionSaid || w.Mode() == mode.Paused {
		return ""
	}
	named := w.named // The count need not be the max.
	text := "; " + w.maxText()
	w.named = named
	return text
}

// soon is how far ahead a change of the bounds is worth a mention.
const soon = time.Hour

// due is what changes soon although the metrics stay, or whenever it is if there are no metrics: nothing else happens.
func (w *writer) due() string {
	change := &w.Schedules.Next
	isFar := change.At.Sub(w.At) > soon && len(w.Policy.Metrics) > 0
	if change.Schedule == nil || isFar || slices.Contains(w.said, change.Schedule) {
		return ""
	}
	s := change.Schedule
	switch name, at := s.Describe(), w.clock(change.At); change.Kind {
	case schedules.Start:
		return fmt.Sprintf("; %s starts at %s with %s", name, at, boundsOf(s))
	case schedules.RampStart:
		return fmt.Sprintf("; %s ramps to %s from %s to %s", name, boundsOf(s), at, w.clock(change.At.Add(s.Ramp)))
	case schedules.RampStep:
		f := w.inForce(s)
		goal, now := *s, schedules.Schedule{MinReplicas: f.MinReplicas, MaxReplicas: f.MaxReplicas}
		if f.MinReplicas <= 0 {
			goal.MinReplicas = 0
		}
		if f.MaxReplicas <= 0 {
			goal.MaxReplicas = 0
		}
		return fmt.Sprintf("; %s ramps to %s by %s, with %s until %s", name, boundsOf(&goal), w.clock(f.Until),
			boundsOf(&now), at)
	default:
		return fmt.Sprintf("; %s ends at %s", name, at)
	}
}

// boundsOf is "minReplicas 3 and maxReplicas 5".
func boundsOf(s *schedules.Schedule) string {
	text, and := "", ""
	if s.MinReplicas > 0 {
		text, and = fmt.Sprintf("minReplicas %d", s.MinReplicas), " and "
	}
	if s.MaxReplicas > 0 {
		text += fmt.Sprintf("%smaxReplicas %d", and, s.MaxReplicas)
	}
	return text
}
