package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// TestNewPodConfirmsTheLoad: two pods were seen at ten times their target 12 s ago, and the target was scaled up to 4 on
// that 3 s ago. Their kubelet has no newer samples of them. The new pods do not count yet, but as soon as one was ready
// during an interval and used more than its target in it, the load is known to be still there.
func TestNewPodConfirmsTheLoad(t *testing.T) {
	const s = time.Second
	used := func(milli int64, ago time.Duration) metric.Sample {
		return metric.Sample{Present: true, Milli: milli, At: noon.Add(-ago), Window: s}
	}
	for name, tt := range map[string]struct {
		readyFor time.Duration
		interval metric.Sample
		want     int32
		delayed  behavior.DoublingDelay
	}{
		"it has load":              {2 * s, used(501, 0), 8, behavior.NotDelayed},
		"it has none":              {2 * s, used(500, 0), 4, behavior.NothingNewer},
		"its start alone was seen": {s / 2, used(900, 0), 4, behavior.NothingNewer},
		"nothing was seen":         {2 * s, metric.Sample{}, 4, behavior.NothingNewer},
		"known at the last one":    {4 * s, used(900, 3*s), 4, behavior.NothingNewer},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := surging(), steady(4)
			p.CPUInitializationPeriod = 5 * time.Minute
			r := &o.Readings[0]
			r.Recent = make([]metric.Recent, 4)
			for i := range o.Pods[:2] {
				r.Samples[i].Milli, r.Samples[i].At = 5000, noon.Add(-12*s)
			}
			for i := 2; i < 4; i++ {
				o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-tt.readyFor-s), noon.Add(-tt.readyFor)
				r.Samples[i].At, r.Samples[i].Window = tt.interval.At, 15*s
			}
			r.Recent[3][0] = tt.interval
			state := remembering(past{time.Hour, 1})
			state.LastScaleUp = noon.Add(-3 * s)
			state.LastScaleUpOn = []behavior.Sample{{At: noon.Add(-3 * s)}}
			d, _ := horizontal.Decide(noon, &p, state, &o)
			if d.Desired != tt.want || d.Limited.DoublingDelayed != tt.delayed || d.Metrics[0].Counts.Unready != 2 {
				t.Errorf("%d, %q, want %d, %q: %+v", d.Desired, d.Limited.DoublingDelayed, tt.want, tt.delayed, d.Metrics[0].Counts)
			}
		})
	}
}
