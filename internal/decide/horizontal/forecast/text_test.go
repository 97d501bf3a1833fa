package forecast

import (
	"math"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	day := Day{AvoidedPodMinutes: 2.4, WastedPodMinutes: 123.4}
	for want, r := range map[string]Result{
		"nothing is learnt": {},
		"it has seen 3 of the 30 hours of load that it needs": {Reason: ReasonLearning, LearntFor: 3*time.Hour + 59*time.Minute,
			Needed: 30 * time.Hour},
		"the load is not known at present: a metric cannot be read, or too few pods have samples":                   {Reason: ReasonLoadUnknown},
		"off: it would have wasted 120 pod-minutes a day to avoid 2":                                                {Reason: ReasonNotWorthItsPrice, Day: day},
		"off: it would have avoided 2 pod-minutes a day, but the 120 that it would have wasted are above the limit": {Reason: ReasonAboveWasteLimit, Day: day},
		"played back, it avoids 2 pod-minutes of lacking capacity a day and wastes 120":                             {Reason: ReasonInUse, Day: day},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%v: %q, want %q", r.Reason, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	for number, want := range map[float64]int32{
		-3: 0, 0: 0, 0.4: 0, 0.6: 1, 9.6: 10, 12.4: 12, 99.6: 100, 123.4: 120, 1250: 1300, 1e300: 1100000000,
		math.Inf(1): 1100000000,
	} {
		if got := Rounded(number); got != want {
			t.Errorf("%g is %d, want %d", number, got, want)
		}
	}
	if got := Rounded(math.NaN()); got != 0 {
		t.Errorf("NaN is %d", got)
	}
}

func TestLearningUntil(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC)
	r := Result{Reason: ReasonLearning, LearntFor: 28 * time.Hour, Needed: 30 * time.Hour}
	if got := r.LearningUntil(now); !got.Equal(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, want the full hour after two hours", got)
	}
	if r.Reason = ReasonInUse; !r.LearningUntil(now).IsZero() {
		t.Error("one that has learnt enough still learns")
	}
}
