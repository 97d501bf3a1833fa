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
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// tide is a target with a decision each second, whose load rises and falls and whose count follows it.
type tide struct {
	policy      horizontal.Policy
	state       horizontal.State
	observation horizontal.Observation
	second      int
	// rises and falls are the numbers of scale writes in each direction.
	rises, falls int
}

// cycle is the period of the load, and high the part of it with a high load.
const (
	cycle = 900
	high  = 300
)

// turn plays one cycle of the load.
func (w *tide) turn() {
	w.rises, w.falls = 0, 0
	for range cycle {
		w.next()
	}
}

func (w *tide) next() {
	level := int64(700)
	if w.second%cycle < high {
		level = 1500
	}
	// The proposals vary, and the count stays.
	level += int64(w.second % 7 * 15)
	now := noon.Add(time.Duration(w.second) * time.Second)
	w.second++
	o := &w.observation
	for i := range o.Readings {
		r := &o.Readings[i]
		r.At = now
		for n := range r.Series {
			r.Series[n] = level * 10
		}
		for n := range r.Samples {
			r.Samples[n].Milli, r.Samples[n].At = level/2, now
		}
		for n := range r.Recent {
			r.Recent[n][0].Milli, r.Recent[n][0].At = level/2, now
		}
	}
	var d horizontal.Decision
	d, w.state = horizontal.Decide(now, &w.policy, w.state, o)
	w.state = horizontal.Settle(w.state, horizontal.Outcome{At: now})
	switch {
	case d.Desired > d.Current:
		w.rises++
	case d.Desired < d.Current:
		w.falls++
	}
	o.Target.SpecReplicas, o.Target.StatusReplicas = d.Desired, d.Desired
}

func cpu() source.Spec {
	return source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: 50},
	}
}

// TestSteadyStateAllocatesNothing: once the buffers have the size that a target
// needs, decisions and their history allocate no memory, scale writes included.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	average := source.Target{Type: source.AverageValue, Milli: 500}
	several := steady(10)
	several.Readings = append(several.Readings, length(10),
		metric.Reading{Samples: several.Readings[0].Samples, Extraneous: []int64{500}}, several.Readings[0])
	scaler := length(10)
	scaler.Activity, scaler.TargetMilli = metric.Active, 1000
	own := answered(10, 7)
	own.Readings = append(own.Readings, length(10), scaler)
	for name, tt := range map[string]struct {
		metrics     []source.Spec
		observation horizontal.Observation
	}{
		"utilization of 10 pods":   {[]source.Spec{cpu()}, steady(10)},
		"utilization of 1000 pods": {[]source.Spec{cpu()}, steady(1000)},
		"the surge window":         {[]source.Spec{cpu()}, busy(10, 1, 1, 1)},
		"an external metric":       {[]source.Spec{queue()}, see(10, length(10))},
		"metrics that Plimsoll reads itself": {
			[]source.Spec{
				endpoint(), {Type: source.Prometheus, Name: "up", Target: queue().Target},
				{Type: source.ExternalScaler, Name: "jobs", Target: queue().Target, IsOwnTarget: true},
			}, own,
		},
		"several metrics": {
			[]source.Spec{
				cpu(), queue(), {Type: source.Pods, Name: "requests", Target: average},
				{Type: source.ContainerResource, Name: "memory", Container: "main", Target: average},
			}, several,
		},
	} {
		for behavior, b := range map[string]*behavior.Behavior{"with behavior": defaults(), "without behavior": nil} {
			t.Run(name+" "+behavior, func(t *testing.T) {
				w := tide{policy: policy(1, 10_000), observation: tt.observation}
				w.policy.Metrics, w.policy.Behavior, w.policy.Surge = tt.metrics, b, surge.Defaults()
				if tt.metrics[0].Type == source.PodEndpoint {
					w.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
				}
				w.policy.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
				w.turn()
				if allocations := testing.AllocsPerRun(1, w.turn); allocations != 0 {
					t.Errorf("%v allocations in %d decisions", allocations, cycle)
				}
				if w.rises == 0 || w.falls == 0 {
					t.Errorf("%d scale-ups and %d scale-downs: that proves nothing of scale writes", w.rises, w.falls)
				}
			})
		}
	}
}

// TestDecisionBorrows: a decision is valid until the next one on its state, and its clone for good. Settling it does
// not change it.
func TestDecisionBorrows(t *testing.T) {
	p, o, other := policy(1, 100), steady(3), steady(3)
	p.Metrics = []source.Spec{cpu()}
	other.Pods[1].Phase, other.Readings[0].Samples[0].Milli = metric.PhasePending, 900
	want, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)

	d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	clone, copied := d.Clone(), s.Clone()
	s = horizontal.Settle(s, horizontal.Outcome{At: noon})
	horizontal.Decide(noon.Add(time.Second), &p, copied, &other)
	if diff := cmp.Diff(want.Metrics, d.Metrics); diff != "" {
		t.Errorf("settling, or a decision on a copy of the state, changes it (-want +got):\n%s", diff)
	}
	next, _ := horizontal.Decide(noon.Add(time.Second), &p, s, &other)
	if diff := cmp.Diff(want.Metrics, clone.Metrics); diff != "" {
		t.Errorf("the next decision changes the clone (-want +got):\n%s", diff)
	}
	if &next.Metrics[0] != &d.Metrics[0] || &next.Metrics[0].Groups[0] != &d.Metrics[0].Groups[0] {
		t.Error("the next decision does not use the buffers again")
	}
}

// TestBuffersCarryNothing: buffers that other decisions of other sizes have used lead to the same decision as new ones.
func TestBuffersCarryNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		_, state := s.decide()
		for i := range 3 {
			s = making(t).situation()
			s.state, s.now = state, noon.Add(time.Duration(i)*time.Minute)
			want, expected := s.decide()
			got, next := horizontal.Decide(s.now, &s.policy, s.state, &s.observation)
			if diff := cmp.Diff(want.Metrics, got.Metrics, cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("other metrics (-new buffers +used):\n%s", diff)
			}
			if diff := cmp.Diff(statusreport.Of(&want, horizontal.Outcome{}), statusreport.Of(&got, horizontal.Outcome{})); diff != "" {
				t.Fatalf("another report (-new buffers +used):\n%s", diff)
			}
			if fmt.Sprint(want.Proposed, want.Surge, want.Limited) != fmt.Sprint(got.Proposed, got.Surge, got.Limited) {
				t.Fatalf("%+v and %+v", want, got)
			}
			if diff := cmp.Diff(expected, next, remembered); diff != "" {
				t.Fatalf("remembers otherwise (-new buffers +used):\n%s", diff)
			}
			state = horizontal.Settle(next, horizontal.Outcome{At: s.now})
		}
	})
}
