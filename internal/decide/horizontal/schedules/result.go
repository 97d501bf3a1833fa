package schedules

import (
	"fmt"
	"strings"
	"time"
)

// Bounds are the least and the most replicas.
type Bounds struct {
	MinReplicas, MaxReplicas int32
}

// Result is what the schedules lead to at one moment.
type Result struct {
	// Bounds are the object's, tightened by the schedules.
	Bounds
	// MinBy and MaxBy are the schedules that the highest min and the lowest max come from; nil where they are the
	// object's own.
	MinBy, MaxBy *Schedule
	// MaxWins is set if the highest min is above the lowest max. Both bounds are the max then.
	MaxWins bool
	// InForce are the schedules that are in force or ramp, in the object's order.
	InForce []InForce
	// Next is when that changes next; its time is zero if it never does.
	Next Change
}

// InForce is a schedule that is in force or ramps.
type InForce struct {
	Schedule *Schedule
	// Since is the last start, and Until the end; zero if the schedule starts again and again before it ends. Of a ramp
	// they are its own start and end.
	Since, Until time.Time
	// MinReplicas and MaxReplicas are the schedule's at this moment, 0 where it has none; a ramp's min rises, and its max
	// falls.
	MinReplicas, MaxReplicas int32
	IsRamp                   bool
}

// Change is the next moment at which the schedules lead to something else.
type Change struct {
	At       time.Time
	Kind     Kind
	Schedule *Schedule
}

// Kind is what changes.
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

// Condition returns what the condition ScheduleActive says. It has no numbers that change during a ramp.
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

// Describe names where a bound comes from.
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
