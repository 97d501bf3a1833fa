package monitor

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

var begin = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// points are what was recorded of decisions, one each second, the last of which is not over.
func points(t *testing.T, decisions ...horizontal.Decision) (recorded []loadhistory.Point) {
	t.Helper()
	var r Loads
	o := horizontal.Observation{Pods: []metric.Pod{
		{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning}, {Ready: metric.ReadyFalse, Phase: metric.PhaseRunning},
		{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning, Deleting: true},
	}}
	for i := range decisions {
		decisions[i].At = begin.Add(time.Duration(i) * time.Second)
		r.Add(&o, &decisions[i])
	}
	r.Add(&o, &horizontal.Decision{At: begin.Add(time.Hour), Branch: horizontal.BranchMetrics})
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

// TestPodsThatWereNotRead: a decision that reads no pods says nothing of how many are ready.
func TestPodsThatWereNotRead(t *testing.T) {
	var r Loads
	ready := metric.Pod{Ready: metric.ReadyTrue, Phase: metric.PhaseRunning}
	for i, o := range []horizontal.Observation{
		{Pods: []metric.Pod{ready, ready}, Target: horizontal.Target{StatusReplicas: 2}},
		{Target: horizontal.Target{StatusReplicas: 2}},
		{Target: horizontal.Target{StatusReplicas: 0}},
		{},
	} {
		r.Add(&o, &horizontal.Decision{At: begin.Add(time.Duration(i) * time.Second), Branch: horizontal.BranchAboveMax})
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
