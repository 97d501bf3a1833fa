package trigger

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// Again is the next moment at which a decision may change although the observation does not.
type Again struct {
	// At is zero if there is none.
	At     time.Time
	Reason Reason
	// Schedule is the name of the schedule that changes, and Metric the index of the metric whose fallback is due.
	Schedule string
	Metric   int
}

// Reason is why.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota
	// ScheduleStart, ScheduleEnd, RampStart and RampStep: a schedule changes the bounds.
	ScheduleStart
	ScheduleEnd
	RampStart
	RampStep
	// FallbackDue: a metric will have failed for long enough.
	FallbackDue
	// CooldownEnd: no metric will have been active for long enough.
	CooldownEnd
)

// String returns the reason as status shows it.
func (r Reason) String() string {
	return [...]string{
		"", "ScheduleStart", "ScheduleEnd", "RampStart", "RampStep", "FallbackDue", "CooldownEnd",
	}[r]
}

// OfSchedule returns the reason for a change of a schedule.
func OfSchedule(kind schedules.Kind) Reason {
	return [...]Reason{ScheduleStart, ScheduleEnd, RampStart, RampStep}[kind]
}

// OrEarlier returns the earlier of the two.
func (a Again) OrEarlier(other Again) Again {
	if a.At.IsZero() || !other.At.IsZero() && other.At.Before(a.At) {
		return other
	}
	return a
}
