package contention

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// series is a line in cAdvisor's format, seconds after noon.
func series(family, container string, value float64, seconds int) string {
	return fmt.Sprintf(
		`%s{container=%q,id="/kubepods/burstable/pod1/%s",image="",name="",namespace="shop",pod="web-1"} %g %d`,
		family, container, container, value, noon.Add(time.Duration(seconds)*time.Second).UnixMilli())
}

func answer(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

const (
	periods   = "container_cpu_cfs_periods_total"
	throttled = "container_cpu_cfs_throttled_periods_total"
	waiting   = "container_pressure_cpu_waiting_seconds_total"
)

func TestLook(t *testing.T) {
	web := Key{"shop", "web-1", "app"}
	for why, c := range map[string]struct {
		before, after []byte
		want          map[Key]Shares
	}{
		"a quarter of the periods, a tenth of the time": {
			answer(series(periods, "app", 100, 0), series(throttled, "app", 10, 0), series(waiting, "app", 5, 0)),
			answer(series(periods, "app", 500, 60), series(throttled, "app", 110, 60), series(waiting, "app", 11, 60)),
			map[Key]Shares{web: {Throttled: 0.25, HasThrottled: true, Pressure: 0.1, HasPressure: true}},
		},
		"without a limit there are no periods, without cgroup v2 no pressure": {
			answer(series(waiting, "app", 0, 0)), answer(series(waiting, "app", 0, 60)), map[Key]Shares{},
		},
		"a container that came meanwhile": {
			answer(), answer(series(periods, "app", 100, 60), series(throttled, "app", 50, 60)), map[Key]Shares{},
		},
		"counters that fell": {
			answer(series(periods, "app", 500, 0), series(throttled, "app", 400, 0)),
			answer(series(periods, "app", 100, 60), series(throttled, "app", 50, 60)), map[Key]Shares{},
		},
		"what is no number": {
			answer(series(periods, "app", 100, 0), series(throttled, "app", math.NaN(), 0)),
			answer(series(periods, "app", 200, 60), series(throttled, "app", 50, 60)), map[Key]Shares{},
		},
		"an idle container has no periods to be throttled in": {
			answer(series(periods, "app", 100, 0), series(throttled, "app", 10, 0)),
			answer(series(periods, "app", 100, 60), series(throttled, "app", 10, 60)), map[Key]Shares{},
		},
		"the sum over the pod": {
			answer(series(periods, "", 100, 0), series(throttled, "", 10, 0)),
			answer(series(periods, "", 200, 60), series(throttled, "", 20, 60)), map[Key]Shares{},
		},
		"a look long ago": {
			answer(series(periods, "app", 100, 0), series(throttled, "app", 10, 0)),
			answer(series(periods, "app", 200, 3600), series(throttled, "app", 20, 3600)), map[Key]Shares{},
		},
	} {
		var m Meter
		if _, err := m.Look(noon, c.before); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		got, err := m.Look(noon.Add(time.Minute), c.after)
		if err != nil || !got.IsWhole || len(got.Same) != 0 {
			t.Fatalf("%s: %+v, %v", why, got, err)
		}
		if diff := cmp.Diff(c.want, got.Shares); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

// TestAnAnswerThatCannotBeReadChangesNothing: after a response that cannot be parsed, the next good one is compared
// with the last good one.
func TestAnAnswerThatCannotBeReadChangesNothing(t *testing.T) {
	var m Meter
	if _, err := m.Look(noon, answer(series(periods, "app", 100, 0), series(throttled, "app", 0, 0))); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Look(noon, []byte(periods+`{container="app"`)); err == nil {
		t.Error("half a line is no error")
	}
	got, err := m.Look(noon, answer(series(periods, "app", 200, 60), series(throttled, "app", 100, 60)))
	if err != nil || got.Shares[web1].Throttled != 1 {
		t.Errorf("%v, %v: want all periods throttled", got, err)
	}
}

// TestNothingNew: a container without a new sample since the last read has no shares. The next sample is compared with
// the last.
func TestNothingNew(t *testing.T) {
	var m Meter
	for i, step := range []struct {
		second        int
		p, th, want   float64
		isKnown, isIn bool
	}{
		{0, 100, 0, 0, false, false}, {0, 100, 0, 0, false, false}, {20, 300, 50, 0.25, true, true},
		{40, 300, 50, 0, true, false}, // It ran in none of the periods.
	} {
		look, err := m.Look(noon.Add(time.Duration(i)*10*time.Second),
			answer(series(periods, "app", step.p, step.second), series(throttled, "app", step.th, step.second)))
		if err != nil {
			t.Fatal(err)
		}
		got, isKnown := Seen{"a": look}.Of("a", web1)
		if got.Throttled != step.want || isKnown != step.isKnown || got.HasThrottled != step.isIn {
			t.Errorf("look %d: %+v, known: %t", i, got, isKnown)
		}
	}
}
