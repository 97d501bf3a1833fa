package forecast

import (
	"fmt"
	"math"
	"time"
)

// Text returns the reason in a sentence with the numbers. Numbers of a day have two digits, so that they stay the same
// from minute to minute.
func (r *Result) Text() string {
	avoided, wasted := Rounded(r.Day.AvoidedPodMinutes), Rounded(r.Day.WastedPodMinutes)
	switch r.Reason {
	case ReasonLearning:
		return fmt.Sprintf("it has seen %d of the %d hours of load that it needs", int(r.LearntFor.Hours()),
			int(r.Needed.Hours()))
	case ReasonLoadUnknown:
		return "the load is not known at present: a metric cannot be read, or too few pods have samples"
	case ReasonNotWorthItsPrice:
		return fmt.Sprintf("off: it would have wasted %d pod-minutes a day to avoid %d", wasted, avoided)
	case ReasonAboveWasteLimit:
		return fmt.Sprintf("off: it would have avoided %d pod-minutes a day, but the %d that it would have wasted are "+
			"above the limit", avoided, wasted)
	case ReasonInUse:
		return fmt.Sprintf("played back, it avoids %d pod-minutes of lacking capacity a day and wastes %d", avoided, wasted)
	default:
		return "nothing is learnt"
	}
}

// Rounded returns a number of a day with two digits.
func Rounded(number float64) int32 {
	if !(number > 0) {
		return 0
	}
	number = min(number, math.MaxInt32/2)
	step := math.Pow(10, max(0, math.Floor(math.Log10(number))-1))
	return int32(math.Round(number/step) * step)
}

// LearningUntil returns when the forecast will have learnt enough, to the hour, if the load is known until then; zero
// if it has.
func (r *Result) LearningUntil(now time.Time) time.Time {
	if r.Reason != ReasonLearning || r.LearntFor >= r.Needed {
		return time.Time{}
	}
	return now.Add(r.Needed - r.LearntFor).Truncate(time.Hour).Add(time.Hour)
}
