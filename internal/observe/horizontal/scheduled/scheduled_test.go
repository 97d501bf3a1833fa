package scheduled

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// TestEndsAtItsStart: an end that has the times of the start, in whatever spelling, is refused without notAfter: the
// schedule would never end.
func TestEndsAtItsStart(t *testing.T) {
	for _, c := range []struct {
		start, end string
		isSame     bool
	}{
		{"0 9 * * *", "0 9 * * *", true},
		{"0 9 * * *", "0 9 * * 0-6", true},
		{"0 9 * * *", "0 9 ? * sun-sat", true},
		{"0 9 * * *", "0 9 1-31 * *", true},
		{"0 9 * * *", "0 09 * 1-12 *", true},
		{"0 9 * * *", "0 9 1 * 0-6", true}, // one of two restrictions is enough
		{"0 0 * * *", "@daily", true},
		{"@midnight", "@daily", true},
		{"0 9 30-31 4 *", "0 9 30 4 *", true}, // April has 30 days
		{"0 8-9 * * mon-fri", "0 8,9 * * 1,2,3,4,5", true},
		{"*/30 * * * *", "0,30 0-23 * * *", true},
		{"0 9 * * *", "0 9 1 * *", false},
		{"0 9 * * *", "0 9 * * 1-6", false},
		{"0 9 1 * mon", "0 9 1 * *", false},
		{"0 9 29 2 *", "0 9 28 2 *", false},
		{"0 9 * * *", "0 10 * * *", false},
		{"0 9 * * *", "1 9 * * *", false},
		{"0 9 1 1 *", "0 9 1 2 *", false},
	} {
		s := &plimsollv1alpha1.Schedule{Name: "a", Start: c.start, End: c.end}
		_, errs := Of(s, field.NewPath("spec", "schedules").Index(1))
		isRefused := len(errs) == 1 && errs[0].Field == "spec.schedules[1].end" && strings.Contains(errs[0].Detail, c.start)
		if isRefused != c.isSame || !c.isSame && errs != nil {
			t.Errorf("from %q to %q: %v", c.start, c.end, errs)
		}
		s.NotAfter = date(t, "2026-12-25T00:00:00Z")
		if _, errs := Of(s, field.NewPath("schedule")); errs != nil {
			t.Errorf("from %q to %q, until a date: %v", c.start, c.end, errs)
		}
	}
}

// TestOneLongSchedule: with the times of start, end leaves no gap between the first start and notAfter.
func TestOneLongSchedule(t *testing.T) {
	first, last := date(t, "2026-12-01T09:00:00Z").Time, date(t, "2026-12-25T00:00:00Z").Time
	one := scheduleOf(t, &plimsollv1alpha1.Schedule{
		Name: "a", Start: "0 9 * * *", End: "0 9 * * 0-6", MinReplicas: ptr.To[int32](5),
		NotBefore: date(t, "2026-12-01T09:00:00Z"), NotAfter: date(t, "2026-12-25T00:00:00Z"),
	})
	for at := first.Add(-time.Hour); at.Before(last.Add(time.Hour)); at = at.Add(time.Hour) {
		if got, is := leastAt(one, at), !at.Before(first) && at.Before(last); (got == 5) != is {
			t.Errorf("%s: %d replicas", at, got)
		}
	}
}

// TestNoStartBetweenDates: a schedule without a start between its dates is never in force, and is no error: it must
// not stop its object.
func TestNoStartBetweenDates(t *testing.T) {
	none := scheduleOf(t, &plimsollv1alpha1.Schedule{
		Name: "a", Start: "0 0 1 1 *", DurationSeconds: ptr.To[int32](3600), MinReplicas: ptr.To[int32](5),
		NotBefore: date(t, "2026-12-24T00:00:00Z"), NotAfter: date(t, "2026-12-25T00:00:00Z"),
	})
	for at, last := date(t, "2026-12-23T00:00:00Z").Time, date(t, "2027-01-02T00:00:00Z").Time; at.Before(last); {
		if got := leastAt(none, at); got != 1 {
			t.Errorf("%s: %d replicas", at, got)
		}
		at = at.Add(30 * time.Minute)
	}
}

func scheduleOf(t *testing.T, s *plimsollv1alpha1.Schedule) schedules.Schedule {
	t.Helper()
	out, errs := Of(s, field.NewPath("schedule"))
	if errs != nil {
		t.Fatal(errs)
	}
	return out
}

// leastAt returns the lower bound then of an object with minReplicas 1.
func leastAt(s schedules.Schedule, at time.Time) int32 {
	bounds := schedules.Bounds{MinReplicas: 1, MaxReplicas: 10}
	return new(schedules.Cache).At(at, []schedules.Schedule{s}, bounds).MinReplicas
}

func date(t *testing.T, text string) *metav1.Time {
	t.Helper()
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return ptr.To(metav1.NewTime(at))
}
