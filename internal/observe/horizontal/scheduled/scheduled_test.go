package scheduled

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// TestEndsAtItsStart: an end that has the times of the start, in whatever spelling, is refused: the schedule would
// never end.
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
	}
}

// TestNoStartBetweenDates: dates between which no start puts the schedule in force are refused.
func TestNoStartBetweenDates(t *testing.T) {
	const hour, day = int64(3600), int64(24 * 3600)
	for name, c := range map[string]struct {
		start, notBefore, notAfter string
		seconds                    int64
		isRefused                  bool
	}{
		"a start between them":        {"0 0 24 12 *", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z", hour, false},
		"a start at the first":        {"0 0 24 12 *", "2026-12-24T00:00:00Z", "2026-12-24T00:01:00Z", hour, false},
		"a start at the last":         {"0 0 25 12 *", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z", hour, true},
		"no start":                    {"0 0 1 1 *", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z", hour, true},
		"an earlier start still acts": {"0 0 23 12 *", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z", 2 * day, false},
		"an earlier one no longer":    {"0 0 23 12 *", "2026-12-24T00:00:00Z", "2026-12-25T00:00:00Z", day, true},
		"no last date":                {"0 0 1 1 *", "2026-12-24T00:00:00Z", "", hour, false},
		"no first date":               {"0 0 1 1 *", "", "2026-12-25T00:00:00Z", hour, false},
		"dates of another zone":       {"0 0 24 12 *", "2026-12-23T12:00:00-12:00", "2026-12-25T00:00:00Z", hour, false},
	} {
		_, errs := Of(&plimsollv1alpha1.Schedule{
			Name: "a", Start: c.start, DurationSeconds: ptr.To(c.seconds),
			NotBefore: date(t, c.notBefore), NotAfter: date(t, c.notAfter),
		}, field.NewPath("spec", "schedules").Index(0))
		isRefused := len(errs) == 1 && errs[0].Field == "spec.schedules[0].notAfter"
		if isRefused != c.isRefused || !c.isRefused && errs != nil {
			t.Errorf("%s: %v", name, errs)
		}
	}
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
