package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// TestLoweredOnce: the count fell to 4 some time before noon. The pods use half of their target by samples whose
// windows end and begin before or after that. A ratio that was measured with more pods is not multiplied by 4.
func TestLoweredOnce(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		reason         string
		ago, at, spans time.Duration
		kind           trigger.Kind
		isOff          bool
		want           int32
	}{
		"all after":    {"it is the use of the 4", 20 * second, 0, 15 * second, trigger.Samples, false, 2},
		"began before": {"for 5 s there were more pods", 10 * second, 0, 15 * second, trigger.Samples, false, 4},
		"ended before": {"they were more all the time", 10 * second, 12 * second, 15 * second, trigger.Samples, false, 4},
		"began before, sync period": {"it does not matter why it is decided", 10 * second, 0, 15 * second,
			trigger.Periodic, false, 4},
		"off, sync period": {"upstream multiplies", 10 * second, 0, 15 * second, trigger.Periodic, true, 2},
		"off, samples": {"upstream decides once in a sync period: between two, nothing is multiplied twice",
			10 * second, 0, 15 * second, trigger.Samples, true, 4},
		"clock far behind": {"times that never come must not end scaling down", 5 * time.Minute, time.Hour, 15 * second,
			trigger.Samples, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			p.DownscaleStabilization = 0
			p.Metrics[0] = source.Spec{Type: source.Resource, Name: source.CPU,
				Target: source.Target{Type: source.AverageValue, Milli: 100}}
			if tt.isOff {
				p.Divergences = divergence.None
			}
			s := remembering(past{time.Hour, 1})
			s.Count = history.Count{Replicas: 4, IsKnown: true, ChangedAt: noon.Add(-tt.ago), EffectiveAt: noon.Add(-tt.ago),
				IsLowered: true}
			o := see(4, metric.Reading{})
			o.Trigger = tt.kind
			for range 4 {
				o.Pods = append(o.Pods, metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
					ReadyTransition: noon.Add(-time.Hour), StartTime: noon.Add(-time.Hour)})
				o.Readings[0].Samples = append(o.Readings[0].Samples,
					metric.Sample{Present: true, Milli: 50, At: noon.Add(-tt.at), Window: tt.spans})
			}
			if d, _ := horizontal.Decide(noon, &p, s, &o); d.Desired != tt.want {
				t.Errorf("%s: %d by %s, want %d", tt.reason, d.Desired, d.Branch, tt.want)
			}
		})
	}
}

// TestFallsFurtherAfterARate: five seconds before noon the count fell to 8, which was the limit of a rate policy.
// Earlier samples do not lower it below the proposal of that moment, and the count falls to that without waiting for
// new ones.
func TestFallsFurtherAfterARate(t *testing.T) {
	for name, tt := range map[string]struct {
		reason    string
		unreached int32
		milli     int64
		isForeign bool
		want      int32
	}{
		"as far as the rate permits": {"three of the five", 3, 20, false, 5},
		"as far as was asked for":    {"6 are the half of 12", 6, 50, false, 6},
		"the load is back":           {"the pods use twice their target", 3, 200, false, 16},
		"no rate":                    {"it fell as far as was asked for", 0, 50, false, 8},
		"by someone else":            {"nobody asked for less", 3, 50, true, 8},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			p.Behavior = rates(unlimited(), behavior.Rules{Policies: []behavior.RatePolicy{
				{Type: behavior.RatePods, Value: 3, Period: 5 * time.Second}}})
			p.Metrics[0] = source.Spec{Type: source.Resource, Name: source.CPU,
				Target: source.Target{Type: source.AverageValue, Milli: 100}}
			s := remembering(past{time.Hour, 1})
			s.Count = history.Count{Replicas: 8, IsKnown: true, ChangedAt: noon.Add(-5 * time.Second),
				EffectiveAt: noon.Add(-5 * time.Second), IsLowered: true, IsForeign: tt.isForeign}
			s.Unreached, s.ScaleDowns = tt.unreached, changes(past{5 * time.Second, 4})
			o := see(8, metric.Reading{})
			o.Trigger = trigger.Periodic
			for range 8 {
				o.Pods = append(o.Pods, metric.Pod{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
					ReadyTransition: noon.Add(-time.Hour), StartTime: noon.Add(-time.Hour)})
				o.Readings[0].Samples = append(o.Readings[0].Samples,
					metric.Sample{Present: true, Milli: tt.milli, At: noon.Add(-time.Second), Window: 15 * time.Second})
			}
			d, s := horizontal.Decide(noon, &p, s, &o)
			if d.Desired != tt.want {
				t.Errorf("%s: %d by %s, want %d", tt.reason, d.Desired, d.Branch, tt.want)
			}
			if tt.want == 5 && s.Unreached != 3 || tt.want == 16 && s.Unreached != 0 {
				t.Errorf("%d is remembered", s.Unreached)
			}
		})
	}
}

// TestRisesFurtherAfterARate: a load of ten pods meets one pod, which is as new as those that are added for it. The
// count rises second by second to the first proposal, and no farther before the next sync period.
func TestRisesFurtherAfterARate(t *testing.T) {
	p, s := policy(1, 100), remembering(past{time.Hour, 1})
	p.Metrics[0] = source.Spec{Type: source.Resource, Name: source.CPU,
		Target: source.Target{Type: source.AverageValue, Milli: 100}}
	for i, step := range []struct {
		current, want int32
		milli         int64
	}{{1, 4, 1000}, {4, 8, 1000}, {8, 10, 1000}, {10, 10, 1000}, {10, 10, 50}} {
		now := noon.Add(time.Duration(i) * time.Second)
		o := see(step.current, metric.Reading{})
		o.Trigger = trigger.Samples
		o.Pods = []metric.Pod{{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			ReadyTransition: noon.Add(-25 * time.Second), StartTime: noon.Add(-26 * time.Second)}}
		o.Readings[0].Samples = []metric.Sample{{Present: true, Milli: step.milli, At: now, Window: 15 * time.Second}}
		var d horizontal.Decision
		if d, s = horizontal.Decide(now, &p, s, &o); d.Desired != step.want {
			t.Errorf("after %d s: %d by %s, want %d", i, d.Desired, d.Branch, step.want)
		}
		s = horizontal.Settle(s, horizontal.Outcome{At: now})
	}
}

// TestLoweringPeriod: new samples alone lower the count as often as the sync period does. They raise it at any time.
func TestLoweringPeriod(t *testing.T) {
	p := policy(1, 100)
	p.DownscaleStabilization = 0
	s := remembering(past{time.Hour, 1})
	for _, step := range []struct {
		reason  string
		after   time.Duration
		kind    trigger.Kind
		current int32
		asks    int32
		want    int32
	}{
		{"the first time", 0, trigger.Samples, 8, 6, 6},
		{"a second later", time.Second, trigger.Samples, 6, 4, 6},
		{"more is never too early", 2 * time.Second, trigger.Samples, 6, 7, 7},
		{"still too early", 14 * time.Second, trigger.Samples, 7, 4, 7},
		{"a sync period is over", 15 * time.Second, trigger.Periodic, 7, 5, 5},
		{"and begins anew", 20 * time.Second, trigger.Samples, 5, 3, 5},
		{"until it is over", 30 * time.Second, trigger.Samples, 5, 3, 3},
	} {
		o := see(step.current, sampled(step.asks, -step.after))
		o.Trigger = step.kind
		s.Count = history.Count{}
		var d horizontal.Decision
		if d, s = horizontal.Decide(noon.Add(step.after), &p, s, &o); d.Desired != step.want {
			t.Errorf("%s: %d by %s, want %d", step.reason, d.Desired, d.Branch, step.want)
		}
		s = horizontal.Settle(s, horizontal.Outcome{At: noon.Add(step.after)})
	}
}
