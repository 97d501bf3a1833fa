package scheduled

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the same zones everywhere

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStart(t *testing.T) {
	start, location, errs := Start("30 8 * * 1-5", "Europe/Berlin", field.NewPath("spec", "schedules").Index(0))
	if errs != nil || location.String() != "Europe/Berlin" {
		t.Fatalf("%v in %v", errs, location)
	}
	friday := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if next := start.Next(friday); !next.Equal(time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)) {
		t.Errorf("by the clock of its argument's location it is next at %v", next)
	}
	if _, _, errs = Start("0 0 29 2 *", "", nil); errs != nil {
		t.Errorf("the 29th of February: %v", errs)
	}
	if _, location, errs = Start("@daily", "", nil); errs != nil || location != time.UTC {
		t.Errorf("%v in %v, want UTC", errs, location)
	}
}

func TestStartErrors(t *testing.T) {
	for name, tt := range map[string]struct{ start, timeZone, want string }{
		"nothing":                 {"", "", `spec.schedules[2].start: Required value`},
		"a minute of 61":          {"61 * * * *", "", `[2].start: Invalid value: "61 * * * *": end of range (61)`},
		"six fields":              {"0 0 0 * * *", "", `spec.schedules[2].start: Invalid value`},
		"a day that no month has": {"0 0 30 2 *", "", `spec.schedules[2].start: Invalid value: "0 0 30 2 *": never comes`},
		"a day that these lack":   {"0 0 31 4,6,9,11 ?", "", `Invalid value: "0 0 31 4,6,9,11 ?": never comes`},
		"a step above int64":      {"*/9223372036854775808 * * * *", "", `spec.schedules[2].start: Invalid value`},
		"an own time zone":        {"TZ=UTC 0 0 * * *", "", `cannot use TZ or CRON_TZ here`},
		"a panic of cron's":       {"TZ=0", "", `cannot use TZ or CRON_TZ here`},
		"an interval":             {"@every 1h", "", `cannot use @every here`},
		"a long text":             {strings.Repeat("1,", 100) + "1 * * * *", "", `spec.schedules[2].start: Too long`},
		"a zone that is none":     {"0 0 * * *", "Mars/Phobos", `timeZone: Invalid value: "Mars/Phobos": unknown time zone`},
		"the machine's zone":      {"0 0 * * *", "local", `must be an explicit time zone`},
		"a path":                  {"0 0 * * *", "../../etc/passwd", `unknown time zone`},
		"a long zone":             {"0 0 * * *", strings.Repeat("a", 65), `spec.schedules[2].timeZone: Too long`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errs := Start(tt.start, tt.timeZone, field.NewPath("spec", "schedules").Index(2))
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want) {
				t.Errorf("got %v, want %q", errs, tt.want)
			}
		})
	}
	if _, _, errs := Start("", "Mars/Phobos", nil); len(errs) != 2 {
		t.Errorf("two errors make %v", errs)
	}
}

// FuzzStart: no text causes a panic, and an accepted expression has no time zone of its own.
func FuzzStart(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/5 0-3 1,2 jan-dec sun", "@hourly", "TZ=UTC * * * * *", "0/0 * * * *", "-1 * * * *",
	} {
		f.Add(text, "UTC")
	}
	f.Fuzz(func(t *testing.T, expression, timeZone string) {
		start, _, errs := Start(expression, timeZone, field.NewPath("spec"))
		if errs == nil {
			start.Next(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
		}
	})
}
