package workloadstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// jobsNow returns a decision for a target of four replicas and at most five, on so many jobs, with one for each
// replica.
func jobsNow(t *testing.T, n int64, after time.Duration) *horizontal.Decision {
	t.Helper()
	_, w := onCPU(t, metric.Result{})
	w.Policy.Metrics[0].Type, w.Policy.Metrics[0].Target.Type = "External", "AverageValue"
	w.Policy.Metrics[0].Target.Milli = 1000
	o := horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: 4, StatusReplicas: 4}, Readings: []metric.Reading{jobs(n)},
	}
	d, _ := horizontal.Decide(noon.Add(after), w.Policy, horizontal.State{}, &o)
	return &d
}

// TestDecisionKeepsItsTime: a decision has the time of the first one that means the same for the same generation of the
// object.
func TestDecisionKeepsItsTime(t *testing.T) {
	first := DecisionOf(jobsNow(t, 6, 0), 3, nil)
	if !first.Time.Time.Equal(noon) || *first.ObservedGeneration != 3 || first.Reason != "ReplicaLimit" ||
		*first.RecommendedReplicas != 6 || first.DesiredReplicas != 5 {
		t.Fatalf("%+v", first)
	}
	again := jobsNow(t, 6, time.Minute)
	if got := DecisionOf(again, 3, first); !cmp.Equal(got, first) {
		t.Errorf("the same decision: %s", cmp.Diff(first, got))
	}
	for what, got := range map[string]*plimsollv1alpha1.ScaleDecision{
		"another generation":     DecisionOf(again, 4, first),
		"another recommendation": DecisionOf(jobsNow(t, 7, time.Minute), 3, first),
		"another result":         DecisionOf(jobsNow(t, 3, time.Minute), 3, first),
	} {
		if !got.Time.Time.Equal(noon.Add(time.Minute)) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestDecisionWorthAWrite: another result is a reason to write, other numbers are none.
func TestDecisionWorthAWrite(t *testing.T) {
	first := DecisionOf(jobsNow(t, 6, 0), 3, nil)
	for jobs, want := range map[int64]bool{6: false, 7: false, 3: true} {
		w := &Decided{Decision: jobsNow(t, jobs, time.Minute)}
		if got := w.decisionMoved(first); got != want {
			t.Errorf("%d jobs instead of 6: a reason to write is %t", jobs, got)
		}
		if !w.decisionMoved(nil) {
			t.Errorf("%d jobs instead of nothing: no reason to write", jobs)
		}
	}
}

// TestLastDecisionIsKept: while there is temporarily no proposed count, the last decision stays, and is no reason to
// write. In mode Paused there is none.
func TestLastDecisionIsKept(t *testing.T) {
	shown := &plimsollv1alpha1.ScaleDecision{Time: metav1.NewTime(noon.Add(-time.Minute)), CurrentReplicas: 4,
		DesiredReplicas: 2, Reason: "MetricRecommendation"}
	for name, c := range map[string]struct {
		branch horizontal.Branch
		mode   mode.Mode
		isKept bool
	}{
		"the scale cannot be read": {horizontal.BranchNoScale, mode.Active, true},
		"samples are awaited":      {horizontal.BranchAwaiting, mode.Active, true},
		"so in Preview":            {horizontal.BranchAwaiting, mode.Preview, true},
		"so in Paused":             {horizontal.BranchAwaiting, mode.Paused, false},
		"Paused":                   {horizontal.BranchPaused, mode.Paused, false},
		"put to zero by another":   {horizontal.BranchDisabled, mode.Active, false},
	} {
		a, w := onCPU(t, metric.Result{Pending: true})
		a.Workload.Status.LastScaleDecision = shown
		w.Decision.Branch, w.Policy.WorkloadAutoscaler.Mode = c.branch, c.mode
		status := Of(a, w)
		if got := status.LastScaleDecision; (got != nil) != c.isKept || got != nil && !got.Time.Equal(&shown.Time) {
			t.Errorf("%s: %+v", name, got)
		}
		if w.decisionMoved(shown) == c.isKept {
			t.Errorf("%s: a reason to write is %t", name, c.isKept)
		}
	}
}
