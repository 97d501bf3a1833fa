package horizontal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// TestSurgeNeverLowers: the surge window only raises the count, and changes no other part of the decision.
func TestSurgeNeverLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		with, _ := s.decide()
		s.policy.Surge = surge.Settings{}
		without, _ := s.decide()
		if with.Desired < without.Desired || with.Proposed.Replicas < without.Proposed.Replicas {
			t.Fatalf("%d, without the surge window %d: %+v", with.Desired, without.Desired, with.Surge)
		}
		if diff := cmp.Diff(without.Metrics, with.Metrics, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("it changes the metrics:\n%s", diff)
		}
		if with.Proposed.Source != proposal.Surge && (with.Desired != without.Desired || with.Proposed != without.Proposed) {
			t.Fatalf("it asks for nothing and changes the decision from %d to %d", without.Desired, with.Desired)
		}
	})
}

// TestSurgeNeedsItsName: without the divergence, or without intervals, there is no surge window.
func TestSurgeNeedsItsName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		off := s
		off.policy.Surge = surge.Settings{}
		if rapid.Bool().Draw(t, "by name") {
			s.policy.Divergences &^= divergence.SurgeWindow
			off.policy.Divergences &^= divergence.SurgeWindow
		} else {
			for i := range s.observation.Readings {
				s.observation.Readings[i].Recent = nil
			}
		}
		with, state := s.decide()
		without, expected := off.decide()
		if with.Desired != without.Desired || with.Proposed != without.Proposed || with.Surge != without.Surge {
			t.Fatalf("%d and %d", with.Desired, without.Desired)
		}
		if diff := cmp.Diff(expected, state, remembered); diff != "" {
			t.Fatalf("remembers otherwise:\n%s", diff)
		}
	})
}

// busy returns a target of n pods at their target, whose last seconds have these multiples of it, the newest first.
func busy(n int, multiples ...float64) horizontal.Observation {
	o := steady(n)
	var recent metric.Recent
	end := noon
	for i, x := range multiples {
		recent[i] = metric.Sample{Present: true, Milli: int64(500 * x), At: end, Window: time.Second}
		end = end.Add(-time.Second)
	}
	for range n {
		o.Readings[0].Recent = append(o.Readings[0].Recent, recent)
	}
	return o
}

// surging returns a policy for CPU with a target of half of the request.
func surging() horizontal.Policy {
	p := policy(1, 100)
	p.Metrics = []source.Spec{{Type: source.Resource, Name: source.CPU,
		Target: source.Target{Type: source.Utilization, Percent: 50}}}
	p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
	p.Surge = surge.Defaults()
	return p
}

// TestSurgeIsNotChased: the proposals of a surge of seconds do not raise the count once it is over. They would if a
// recommendation of 20, of which the first second permits 4, were stored: without behavior the highest one applies, and
// each second doubles the count.
func TestSurgeIsNotChased(t *testing.T) {
	for name, behavior := range map[string]*behavior.Behavior{"without behavior": nil, "with behavior": defaults()} {
		t.Run(name, func(t *testing.T) {
			p := surging()
			p.Behavior = behavior
			o := busy(4, 10, 10, 1)
			d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
			if d.Proposed.Replicas != 40 || d.Proposed.Source != proposal.Surge {
				t.Fatalf("no surge: %+v", d.Proposed)
			}
			reached := d.Desired
			for second := range 299 {
				now := noon.Add(time.Duration(second) * time.Second)
				s = horizontal.Settle(s, horizontal.Outcome{At: now})
				o := busy(int(reached), 1, 1, 1)
				for i := range o.Readings[0].Samples {
					o.Readings[0].Samples[i].At = now.Add(time.Second)
				}
				d, s = horizontal.Decide(now.Add(time.Second), &p, s, &o)
				if d.Desired != reached {
					t.Fatalf("after %d s: from %d to %d, although the surge is over and the window is not", second+1, reached,
						d.Desired)
				}
			}
		})
	}
}

// TestSurgeReason: the reason names the length of the surge in seconds.
func TestSurgeReason(t *testing.T) {
	p, o := surging(), busy(4, 10, 10, 1)
	d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	r := statusreport.Of(&d, horizontal.Outcome{At: noon})
	if want := "cpu resource utilization (percentage of request) above target in the last 2 s"; r.Reason != want {
		t.Errorf("got %q, want %q", r.Reason, want)
	}
}

// TestSurgeBesideAFailure: a metric that fails prevents the others from lowering the count; a surge may raise it all
// the same.
func TestSurgeBesideAFailure(t *testing.T) {
	p, o := surging(), busy(4, 10, 10, 1)
	p.Metrics = append(p.Metrics, queue())
	o.Readings = append(o.Readings, broken())
	if d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o); d.Desired != 8 ||
		d.Branch != horizontal.BranchMetrics {
		t.Errorf("got %d on %v", d.Desired, d.Branch)
	}
}

// TestSurgeOfYoungPods: two pods became ready recently, and their average has just led to two more. Between sync periods
// that average may include their startup, and proposes no more pods. Their latest intervals do, if they began after it.
func TestSurgeOfYoungPods(t *testing.T) {
	for name, tt := range map[string]struct {
		readyFor time.Duration
		trigger  trigger.Kind
		want     int32
	}{
		"after their start":                 {35 * time.Second, trigger.Samples, 8},
		"in their start":                    {20 * time.Second, trigger.Samples, 4},
		"in their start, at a sync period":  {20 * time.Second, trigger.Periodic, 8},
		"long after it, by the average too": {time.Hour, trigger.Samples, 8},
	} {
		t.Run(name, func(t *testing.T) {
			p := surging()
			at := func(o horizontal.Observation, now time.Time, average int64) *horizontal.Observation {
				o.Trigger = tt.trigger
				for i := range o.Pods {
					o.Pods[i].StartTime = noon.Add(-tt.readyFor - time.Second)
					o.Pods[i].ReadyTransition = noon.Add(-tt.readyFor)
					o.Readings[0].Samples[i].Milli, o.Readings[0].Samples[i].At = average, now
					for k := range o.Readings[0].Recent[i] {
						r := &o.Readings[0].Recent[i][k]
						r.At = r.At.Add(now.Sub(noon))
					}
				}
				return &o
			}
			d, s := horizontal.Decide(noon, &p, horizontal.State{}, at(busy(2, 1, 1, 1), noon, 1000))
			if d.Desired != 4 {
				t.Fatalf("the average leads to %d", d.Desired)
			}
			s = horizontal.Settle(s, horizontal.Outcome{At: noon})
			now := noon.Add(2 * time.Second)
			o := at(busy(2, 10, 10, 1), now, 2000)
			o.Target.SpecReplicas, o.Target.StatusReplicas = 4, 2
			if d, _ = horizontal.Decide(now, &p, s, o); d.Desired != tt.want {
				t.Errorf("%d, want %d: %+v, %+v", d.Desired, tt.want, d.Surge, d.Metrics)
			}
			// A metric that fails at the next sync period raises nothing before it.
			o.Readings[0].Requests[1].Missing = metric.PodWithoutRequest
			if d, _ = horizontal.Decide(now, &p, s, o); d.Desired != 4 {
				t.Errorf("%d although a pod has no request", d.Desired)
			}
		})
	}
}

// TestSuspects: an early scrape is requested if it could change the decision.
func TestSuspects(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		change func(*horizontal.Policy, *horizontal.Observation)
		want   []int
	}{
		"the first steep interval": {"both pods show it", nil, []int{0, 1}},
		"at max": {"there is no more to ask for", func(p *horizontal.Policy, _ *horizontal.Observation) {
			p.MaxReplicas = 2
		}, nil},
		"decided": {"the surge window asks already", func(_ *horizontal.Policy, o *horizontal.Observation) {
			*o = busy(2, 10, 10, 1)
		}, nil},
		"no decision": {"the selector is broken", func(_ *horizontal.Policy, o *horizontal.Observation) {
			o.Target.Selector.Problem = podselector.Missing
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := surging(), busy(2, 10, 1, 1)
			if tt.change != nil {
				tt.change(&p, &o)
			}
			d, state := horizontal.Decide(noon, &p, horizontal.State{}, &o)
			if diff := cmp.Diff(tt.want, d.FollowUp(&state, &o, nil).Suspects); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestSurgeAllocatesNothing: neither the evaluation of calm seconds nor a proposal of a surge allocates memory.
func TestSurgeAllocatesNothing(t *testing.T) {
	for name, multiple := range map[string]float64{"calm": 1, "surge": 10} {
		t.Run(name, func(t *testing.T) {
			p, o, s := surging(), busy(50, multiple, multiple, multiple), horizontal.State{}
			var suspects []int
			i := 0
			step := func() {
				i++
				var d horizontal.Decision
				d, s = horizontal.Decide(noon.Add(time.Duration(i)*time.Second), &p, s, &o)
				suspects = d.FollowUp(&s, &o, suspects[:0]).Suspects
			}
			step()
			if n := testing.AllocsPerRun(100, step); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// BenchmarkSurge runs BenchmarkDecide with intervals beside the averages.
func BenchmarkSurge(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			p, o, s := surging(), busy(n, 1, 1, 1), horizontal.State{}
			p.MaxReplicas = 2000
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				_, s = horizontal.Decide(noon.Add(time.Duration(i)*time.Second), &p, s, &o)
			}
		})
	}
}
