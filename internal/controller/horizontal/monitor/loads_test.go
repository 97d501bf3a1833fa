package monitor

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

var begin = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// points returns what was recorded of decisions, one each second, the last of which is not over.
func points(t *testing.T, decisions ...horizontal.Decision) (recorded []loadhistory.Point) {
	t.Helper()
	var r Loads
	o := horizontal.Observation{Pods: []metric.Pod{
		{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning}, {Ready: metric.ReadyFalse, Phase: metric.PhaseRunning},
		{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning, Deleting: true},
	}}
	for i := range decisions {
		decisions[i].At = begin.Add(time.Duration(i) * time.Second)
		r.Add(&horizontal.Policy{}, &o, &decisions[i])
	}
	r.Add(&horizontal.Policy{}, &o, &horizontal.Decision{At: begin.Add(time.Hour), Branch: horizontal.BranchMetrics})
	encoded, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var again Loads
	if err := again.Merge(encoded); err != nil {
		t.Fatal(err)
	}
	again.history.Points(begin, begin.Add(time.Minute), func(p loadhistory.Point) bool {
		recorded = append(recorded, p)
		return true
	})
	return recorded
}

func TestLimits(t *testing.T) {
	decision := func(branch horizontal.Branch, limited behavior.LimitReason, stabilized behavior.StabilizedReason) horizontal.Decision {
		return horizontal.Decision{
			Branch: branch, Desired: 7, Load: forecast.Load{IsKnown: true, Pods: 5, PerPodMilli: 250},
			Limited: behavior.Limited{Reason: limited}, Stabilized: behavior.Stabilized{Reason: stabilized},
		}
	}
	const fine, stable = behavior.DesiredWithinRange, behavior.ReadyForNewScale
	for want, d := range map[loadhistory.Limit]horizontal.Decision{
		loadhistory.None:                decision(horizontal.BranchMetrics, fine, stable),
		loadhistory.ScaleUpStabilized:   decision(horizontal.BranchMetrics, fine, behavior.ScaleUpStabilized),
		loadhistory.ScaleDownStabilized: decision(horizontal.BranchMetrics, fine, behavior.ScaleDownStabilized),
		loadhistory.ScaleUpLimit:        decision(horizontal.BranchMetrics, behavior.ScaleUpLimit, stable),
		loadhistory.ScaleDownLimit:      decision(horizontal.BranchMetrics, behavior.ScaleDownLimit, behavior.ScaleDownStabilized),
		loadhistory.TooFewReplicas:      decision(horizontal.BranchMetrics, behavior.TooFewReplicas, stable),
		loadhistory.TooManyReplicas:     decision(horizontal.BranchAboveMax, fine, stable),
		loadhistory.Paused:              decision(horizontal.BranchPaused, fine, stable),
		loadhistory.MetricsFailed:       decision(horizontal.BranchFailed, fine, stable),
	} {
		recorded := points(t, d)
		if len(recorded) != 1 || recorded[0].Limit != want || recorded[0].Wanted != 7 || recorded[0].Ready != 1 ||
			math.Abs(recorded[0].Load-5) > 0.05 || recorded[0].PerPodMilli != 250 {
			t.Errorf("%v: %+v", want, recorded)
		}
	}
}

// TestLimitWhereScalingIsDisabled: the end of the window would change nothing.
func TestLimitWhereScalingIsDisabled(t *testing.T) {
	for reason, want := range map[behavior.StabilizedReason]loadhistory.Limit{
		behavior.ScaleUpStabilized: loadhistory.ScaleUpLimit, behavior.ScaleDownStabilized: loadhistory.ScaleDownLimit,
	} {
		recorded := points(t, horizontal.Decision{
			Branch: horizontal.BranchMetrics, Desired: 7, Load: forecast.Load{IsKnown: true, Pods: 5, PerPodMilli: 250},
			Limited:    behavior.Limited{Reason: behavior.DesiredWithinRange},
			Stabilized: behavior.Stabilized{Reason: reason, IsDisabled: true},
		})
		if len(recorded) != 1 || recorded[0].Limit != want {
			t.Errorf("%v: %+v, want %v", reason, recorded, want)
		}
	}
}

// TestPodsThatWereNotRead: a decision that reads no pods does not change the number of ready ones.
func TestPodsThatWereNotRead(t *testing.T) {
	var r Loads
	ready := metric.Pod{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning}
	for i, o := range []horizontal.Observation{
		{Pods: []metric.Pod{ready, ready}, Target: horizontal.Target{StatusReplicas: 2}},
		{Target: horizontal.Target{StatusReplicas: 2}},
		{Target: horizontal.Target{StatusReplicas: 0}},
		{},
	} {
		r.Add(&horizontal.Policy{}, &o, &horizontal.Decision{At: begin.Add(time.Duration(i) * time.Second), Branch: horizontal.BranchAboveMax})
	}
	var recorded []int32
	r.history.Points(begin, begin.Add(time.Minute), func(p loadhistory.Point) bool {
		recorded = append(recorded, p.Ready)
		return true
	})
	if !slices.Equal(recorded, []int32{2, 2, 0}) {
		t.Errorf("%v ready, want 2, 2, 0", recorded)
	}
}

func TestUnknown(t *testing.T) {
	unread := horizontal.Decision{Branch: horizontal.BranchNoScale}
	failed := horizontal.Decision{Branch: horizontal.BranchFailed, Desired: 3}
	recorded := points(t, unread, failed)
	if len(recorded) != 1 || !math.IsNaN(recorded[0].Load) || recorded[0].Wanted != 3 {
		t.Errorf("%+v, want one point without a load", recorded)
	}
	var r Loads
	if err := r.Merge([]byte("damaged")); err == nil {
		t.Error("a damaged history was read")
	}
}

// decided returns a decision on queues of a length, one for each metric; a negative length cannot be read.
func decided(p *horizontal.Policy, second int, lengths ...int64) (horizontal.Observation, horizontal.Decision) {
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: 2, StatusReplicas: 2}}
	for _, n := range lengths {
		reading := metric.Reading{Series: []int64{n * 1000}}
		if n < 0 {
			reading = metric.Reading{Error: "down"}
		}
		o.Readings = append(o.Readings, reading)
	}
	d, _ := horizontal.Decide(begin.Add(time.Duration(second)*time.Second), p, horizontal.State{}, &o)
	return o, d
}

func queues(names ...string) *horizontal.Policy {
	p := &horizontal.Policy{Namespace: "shop", MinReplicas: 1, MaxReplicas: 100}
	for _, name := range names {
		p.Metrics = append(p.Metrics, source.Spec{Type: source.External, Name: name, SelectorText: "nil",
			Target: source.Target{Type: source.AverageValue, Milli: 1000}})
	}
	return p
}

// loadsBy returns the recorded loads by each metric, of the seconds that are over.
func loadsBy(t *testing.T, r *Loads) (names []string, loads map[string][]float64) {
	t.Helper()
	all, err := r.EncodeMetrics()
	if err != nil {
		t.Fatal(err)
	}
	loads = map[string][]float64{}
	for _, m := range all {
		h := loadhistory.OfMetric()
		if err := h.UnmarshalBinary(m.History); err != nil {
			t.Fatal(err)
		}
		names = append(names, m.Name)
		h.Points(begin, begin.Add(time.Minute), func(p loadhistory.Point) bool {
			loads[m.Name] = append(loads[m.Name], p.Load)
			return true
		})
	}
	return names, loads
}

// TestLoadsByMetric: each of several metrics has its own load; a new one starts, an existing one continues, and a
// failed one is unknown.
func TestLoadsByMetric(t *testing.T) {
	var r Loads
	add := func(p *horizontal.Policy, second int, lengths ...int64) {
		o, d := decided(p, second, lengths...)
		r.Add(p, &o, &d)
	}
	two := queues("orders", "mails")
	add(two, 0, 5, 2)
	add(two, 1, 7, -1)
	add(two, 2, 7, 3)
	names, loads := loadsBy(t, &r)
	orders, mails := names[0], names[1]
	want := map[string][]float64{orders: {5, 7}, mails: {2, math.NaN()}}
	if diff := cmp.Diff(want, loads, cmpopts.EquateApprox(0.02, 0), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	three := queues("invoices", "orders", "refunds")
	add(three, 3, 1, 8, 4)
	add(three, 4, 1, 8, 4)
	names, loads = loadsBy(t, &r)
	if len(names) != 3 || names[1] != orders || len(loads[orders]) != 4 || len(loads[names[0]]) != 1 {
		t.Errorf("after a change of the metrics: %q, %v", names, loads)
	}
	add(queues("orders"), 5, 8)
	if names, _ := loadsBy(t, &r); names != nil {
		t.Errorf("of a single metric: %q", names)
	}
}
