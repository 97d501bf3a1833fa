package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// newcomers are two pods that were seen at ten times their target 12 s ago, and two that have been ready for so long and
// do not count yet. The last of them has shown an interval.
func newcomers(readyFor time.Duration, shown metric.Sample) (horizontal.Policy, horizontal.Observation) {
	p, o := surging(), steady(4)
	p.CPUInitializationPeriod = 5 * time.Minute
	r := &o.Readings[0]
	r.Recent = make([]metric.Recent, 4)
	for i := range o.Pods[:2] {
		r.Samples[i].Milli, r.Samples[i].At = 5000, noon.Add(-12*time.Second)
	}
	for i := 2; i < 4; i++ {
		o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-readyFor-time.Second), noon.Add(-readyFor)
		r.Samples[i].At = shown.At
	}
	r.Recent[3][0] = shown
	return p, o
}

// TestStartConfirmsNoMoreThanItShows: a pod was seen at 100 times its target 12 s ago, and the load is gone. Three new pods
// use 1.8 times their target for their start. They show load for 8 replicas, whatever the old sample says.
func TestStartConfirmsNoMoreThanItShows(t *testing.T) {
	const s = time.Second
	p, o := surging(), steady(4)
	p.CPUInitializationPeriod = 5 * time.Minute
	r := &o.Readings[0]
	r.Recent = make([]metric.Recent, 4)
	r.Samples[0].Milli, r.Samples[0].At = 50_000, noon.Add(-12*s)
	state := remembering(past{time.Hour, 1})
	state.LastScaleUp, state.LastScaleUpOn = noon.Add(-4*s), []behavior.Sample{{At: noon.Add(-12 * s)}}
	for second := range 6 {
		now := noon.Add(time.Duration(second) * s)
		for i := 1; i < 4; i++ {
			o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-2*s), noon
			r.Samples[i].At = noon.Add(-12 * s)
			r.Recent[i][0] = metric.Sample{Present: true, Milli: 900, At: now, Window: s}
		}
		d, next := horizontal.Decide(now, &p, state, &o)
		state = horizontal.Settle(next, horizontal.Outcome{At: now})
		o.Target.SpecReplicas, o.Target.StatusReplicas = d.Desired, d.Desired
	}
	if o.Target.SpecReplicas != 8 {
		t.Errorf("%d replicas", o.Target.SpecReplicas)
	}
}

// TestNewerSampleAfterAConfirmation: the target was scaled up because a new pod showed that the load was still there. Then
// the other pods have a newer sample, of the time before that: it is another one than that of the last scale-up.
func TestNewerSampleAfterAConfirmation(t *testing.T) {
	const s = time.Second
	p, o := newcomers(2*s, metric.Sample{Present: true, Milli: 900, At: noon, Window: s})
	r := &o.Readings[0]
	state := remembering(past{time.Hour, 1})
	state.LastScaleUp, state.LastScaleUpOn = noon.Add(-3*s), []behavior.Sample{{At: noon.Add(-12 * s)}}
	d, state := horizontal.Decide(noon, &p, state, &o)
	state = horizontal.Settle(state, horizontal.Outcome{At: noon})
	if d.Desired != 8 {
		t.Fatalf("%d, %q", d.Desired, d.Limited.DoublingDelayed)
	}
	o.Target.SpecReplicas, o.Target.StatusReplicas = 8, 8
	d, _ = horizontal.Decide(noon.Add(2*s), &p, state, &o)
	if d.Desired != 8 || d.Limited.DoublingDelayed != behavior.NothingNewer {
		t.Errorf("on the same samples: %d, %q", d.Desired, d.Limited.DoublingDelayed)
	}
	for i := range o.Pods[:2] {
		r.Samples[i].At = noon.Add(-s)
	}
	if d, _ = horizontal.Decide(noon.Add(4*s), &p, state, &o); d.Desired != 16 {
		t.Errorf("on a newer sample: %d, %q", d.Desired, d.Limited.DoublingDelayed)
	}
}

// TestSurgeDoublesOnceOnItsIntervals: the averages end before the newest intervals, as those of a pod do whose kubelet has
// had nothing new for 10 s. The surge window that doubled the count on these intervals does not do so again.
func TestSurgeDoublesOnceOnItsIntervals(t *testing.T) {
	const s = time.Second
	p, o := surging(), busy(4, 10, 10, 1)
	for i := range o.Readings[0].Samples {
		o.Readings[0].Samples[i].At = noon.Add(-10 * s)
	}
	state := remembering(past{time.Hour, 1})
	state.LastScaleUp, state.LastScaleUpOn = noon.Add(-30*s), []behavior.Sample{{At: noon.Add(-40 * s)}}
	d, state := horizontal.Decide(noon, &p, state, &o)
	state = horizontal.Settle(state, horizontal.Outcome{At: noon})
	if d.Desired != 8 || d.Proposed.Source != proposal.Surge {
		t.Fatalf("%d, %+v, %q", d.Desired, d.Proposed, d.Limited.DoublingDelayed)
	}
	o.Target.SpecReplicas, o.Target.StatusReplicas = 8, 8
	d, state = horizontal.Decide(noon.Add(2*s), &p, state, &o)
	if d.Desired != 8 || d.Limited.DoublingDelayed != behavior.NothingNewer {
		t.Errorf("on the same intervals: %d, %q", d.Desired, d.Limited.DoublingDelayed)
	}
	for i := range o.Readings[0].Recent {
		for k := range o.Readings[0].Recent[i] {
			o.Readings[0].Recent[i][k].At = o.Readings[0].Recent[i][k].At.Add(s)
		}
	}
	if d, _ = horizontal.Decide(noon.Add(2*s), &p, state, &o); d.Desired != 16 {
		t.Errorf("on a newer one: %d, %q", d.Desired, d.Limited.DoublingDelayed)
	}
}

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
		"it has load":              {2 * s, used(1000, 0), 8, behavior.NotDelayed},
		"it has a little load":     {2 * s, used(501, 0), 5, behavior.NothingNewer},
		"it has none":              {2 * s, used(500, 0), 4, behavior.NothingNewer},
		"its start alone was seen": {s / 2, used(900, 0), 4, behavior.NothingNewer},
		"nothing was seen":         {2 * s, metric.Sample{}, 4, behavior.NothingNewer},
		"known at the last one":    {4 * s, used(900, 3*s), 4, behavior.NothingNewer},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := newcomers(tt.readyFor, tt.interval)
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
