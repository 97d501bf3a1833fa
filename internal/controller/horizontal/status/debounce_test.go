package status

import (
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

func TestPace(t *testing.T) {
	for _, tt := range []struct {
		hpas, workloads int
		interval        time.Duration
		want            rate.Limit
	}{
		{hpas: 3, interval: time.Minute, want: leastPace},
		{hpas: 9600, interval: time.Minute, want: 200},
		{workloads: 9600, interval: time.Minute, want: 1200},
		{workloads: 9600, interval: 5 * time.Second, want: 2400},
		{hpas: 3, want: rate.Inf},
	} {
		if got := paceOf(tt.hpas, tt.workloads, tt.interval); got != tt.want {
			t.Errorf("%d HPAs, %d WorkloadAutoscalers, every %s: %v a second", tt.hpas, tt.workloads, tt.interval, got)
		}
	}
}

// TestMayDefer: the status may be left to the next decision if that is soon, within limits.
func TestMayDefer(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		isSoon   bool
		rescaled bool
		isUrgent bool
		due      time.Time
		want     bool
	}{
		"decided again within a second":     {isSoon: true, isUrgent: true, want: true},
		"decided again after a sync period": {},
		"after a scaling":                   {isSoon: true, isUrgent: true, rescaled: true},
		"due for a while": {isSoon: true, isUrgent: true, due: now.Add(-10 * time.Second),
			want: true},
		"due for a sync period":                {isSoon: true, isUrgent: true, due: now.Add(-15 * time.Second)},
		"numbers due for a sync period":        {isSoon: true, due: now.Add(-15 * time.Second), want: true},
		"numbers, decided after a sync period": {due: now.Add(-10 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Writer{Config: Config{Triggers: true, SyncPeriod: 15 * time.Second}}
			u := &Update{Report: statusreport.Report{Rescaled: tt.rescaled}, Start: now, IsRepeatedSoon: tt.isSoon}
			if got := w.mayDefer(u, tt.isUrgent, tt.due); got != tt.want {
				t.Errorf("may be deferred: %v", got)
			}
		})
	}
}
