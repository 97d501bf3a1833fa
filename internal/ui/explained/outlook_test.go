package explained

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func starts(t *testing.T, expression string) schedules.Cron {
	t.Helper()
	s, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func policy(all ...schedules.Schedule) *horizontal.Policy {
	return &horizontal.Policy{
		MinReplicas: 2, MaxReplicas: 20, WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Schedules: all},
	}
}

func bounds(after time.Duration, least, most int32, names ...string) Bounds {
	return Bounds{At: noon.Add(after), Bounds: schedules.Bounds{MinReplicas: least, MaxReplicas: most}, Schedules: names}
}

// TestBoundsOver: bounds change at the past and future starts and ends of schedules.
func TestBoundsOver(t *testing.T) {
	lunch := schedules.Schedule{Name: "lunch", Start: starts(t, "30 12 * * *"), Duration: time.Hour, MinReplicas: 5}
	quiet := schedules.Schedule{Name: "quiet", Start: starts(t, "0 13 * * *"), Duration: 10 * time.Minute, MaxReplicas: 8}
	ramp := schedules.Schedule{Name: "ramp", Start: starts(t, "30 12 * * *"), Duration: time.Hour, MinReplicas: 5, Ramp: 30 * time.Minute}
	for name, c := range map[string]struct {
		policy *horizontal.Policy
		want   []Bounds
	}{
		"an HPA":      {&horizontal.Policy{MinReplicas: 2, MaxReplicas: 20}, []Bounds{bounds(0, 2, 20)}},
		"no schedule": {policy(), []Bounds{bounds(0, 2, 20)}},
		"two schedules": {policy(lunch, quiet), []Bounds{
			bounds(0, 2, 20), bounds(30*time.Minute, 5, 20, "lunch"), bounds(time.Hour, 5, 8, "lunch", "quiet"),
			bounds(70*time.Minute, 5, 20, "lunch"), bounds(90*time.Minute, 2, 20),
		}},
		"a ramp": {policy(ramp), []Bounds{
			bounds(0, 3, 20, "ramp"), bounds(10*time.Minute, 4, 20, "ramp"), bounds(20*time.Minute, 5, 20, "ramp"),
			bounds(90*time.Minute, 2, 20),
		}},
	} {
		if diff := cmp.Diff(c.want, boundsOver(c.policy, noon, noon.Add(2*time.Hour))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestBoundsAreFew: neither a steep ramp nor a schedule each minute leads to a long list.
func TestBoundsAreFew(t *testing.T) {
	steep := schedules.Schedule{
		Name: "steep", Start: starts(t, "0 * * * *"), Duration: time.Minute, MinReplicas: 100_000, Ramp: 50 * time.Minute,
	}
	minutely := schedules.Schedule{Name: "minutely", Start: starts(t, "* * * * *"), Duration: 30 * time.Second, MinReplicas: 5}
	p := policy(steep, minutely)
	p.MaxReplicas = 1_000_000
	all := boundsOver(p, noon, noon.Add(7*24*time.Hour))
	if len(all) == 0 || len(all) > 3*fine {
		t.Fatalf("%d changes", len(all))
	}
	for i := 1; i < len(all); i++ {
		if !all[i].At.After(all[i-1].At) {
			t.Fatalf("%v after %v", all[i].At, all[i-1].At)
		}
	}
}
