package schedules

import (
	"fmt"
	"strings"
	"time"
)

// Bounds are the smallest and the largest replica count.
type Bounds struct {
	MinReplicas, MaxReplicas int32
}

// Result is the effect of the schedules at one moment.
type Result struct {
	// Bounds are the object's, tightened by the schedules.
	Bounds
	// MinBy and MaxBy are the schedules that set the highest min and the lowest max; nil if the object's own apply.
	MinBy, MaxBy *Schedule
	// MaxWins is set if the highest min exceeds the lowest max. Both bounds are the max then.
	MaxWins bool
	// InForce has the schedules that are in force or ramp, in the object's order.
	InForce []InForce
	// Next is the next change; its time is zero if there is none.
	Next Change
}

// InForce is a schedule that is in force or ramps.
type InForce struct {
	Schedule *Schedule
	// Since is the last start, and Until the end; zero if the schedule starts again and again before it ends. For a ramp
	// they are its own start and end.
	Since, Until time.Time
	// MinReplicas and MaxReplicas are the present ones of the schedule, 0 if it has none; a ramp's min rises, and its max
	// falls.
	MinReplicas, MaxReplicas int32
	IsRamp                   bool
}

// Change is the next change of the schedules' effect.
type Change struct {
	At       time.Time
	Kind     Kind
	Schedule *Schedule
}

// Kind is the kind of a change.
type Kind uint8

// The kinds.
const (
	Start Kind = iota
	End
	RampStart
	RampStep
)

// String returns the kind as status shows it.
func (k Kind) String() string {
	return [...]string{"ScheduleStart", "ScheduleEnd", "RampStart", "RampStep"}[k]
}

// The reasons of the condition ScheduleActive.
const (
	ReasonInForce = "ScheduleInForce"
	ReasonMaxWins = "MinAboveMax"
	ReasonNone    = "NoScheduleInForce"
)

// Condition returns the condition ScheduleActive. It contains no numbers that change during a ramp.
func (r *Result) Condition() (isTrue bool, reason, message string) {
	if len(r.InForce) == 0 {
		return false, ReasonNone, "no schedule is in force"
	}
	parts := make([]string, len(r.InForce))
	for i := range r.InForce {
		parts[i] = r.InForce[i].describe()
	}
	message = "in force: " + strings.Join(parts, ", ")
	if !r.MaxWins {
		return true, ReasonInForce, message
	}
	return true, ReasonMaxWins, fmt.Sprintf("%s; the minReplicas of %s is above the maxReplicas of %s, which is applied",
		message, r.MinBy.Describe(), r.MaxBy.Describe())
}

// Describe returns the source of a bound for texts.
func (s *Schedule) Describe() string {
	if s == nil {
		return "the spec"
	}
	return fmt.Sprintf("schedule %q", s.Name)
}

func (f *InForce) describe() string {
	s := f.Schedule
	var bounds []string
	if s.MinReplicas > 0 && f.MinReplicas > 0 {
		bounds = append(bounds, fmt.Sprintf("minReplicas %d", s.MinReplicas))
	}
	if s.MaxReplicas > 0 && f.MaxReplicas > 0 {
		bounds = append(bounds, fmt.Sprintf("maxReplicas %d", s.MaxReplicas))
	}
	if f.IsRamp {
		return fmt.Sprintf("the ramp of %q to %s", s.Name, strings.Join(bounds, " and "))
	}
	return fmt.Sprintf("%q (%s)", s.Name, strings.Join(bounds, ", "))
}
