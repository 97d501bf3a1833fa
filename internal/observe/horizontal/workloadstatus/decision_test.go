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

// TestDecisionKeepsItsTime: a decision has the time of the first one that means the same, and then has no difference
// that would be a reason to write.
func TestDecisionKeepsItsTime(t *testing.T) {
	decide := func(jobsNow int64, after time.Duration) *horizontal.Decision {
		_, w := onCPU(t, metric.Result{})
		w.Policy.Metrics[0].Type, w.Policy.Metrics[0].Target.Type = "External", "AverageValue"
		w.Policy.Metrics[0].Target.Milli = 1000
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4, StatusReplicas: 4}, Readings: []metric.Reading{jobs(jobsNow)},
		}
		d, _ := horizontal.Decide(noon.Add(after), w.Policy, horizontal.State{}, &o)
		return &d
	}
	first := DecisionOf(decide(6, 0), 3, nil)
	if !first.Time.Time.Equal(noon) || *first.ObservedGeneration != 3 || first.Reason != "ReplicaLimit" ||
		*first.RecommendedReplicas != 6 || first.DesiredReplicas != 5 {
		t.Fatalf("%+v", first)
	}
	again := decide(6, time.Minute)
	if got := DecisionOf(again, 3, first); !cmp.Equal(got, first) {
		t.Errorf("the same decision: %s", cmp.Diff(first, got))
	}
	if got := DecisionOf(again, 4, first); got.Time.Equal(&first.Time) || *got.ObservedGeneration != 4 {
		t.Errorf("the same decision on another generation of the object: %+v", got)
	}
	recommended := decide(7, time.Minute)
	if got := DecisionOf(recommended, 3, first); got.Time.Equal(&first.Time) || *got.RecommendedReplicas != 7 {
		t.Errorf("another recommendation: %+v", got)
	}
	for what, d := range map[string]*horizontal.Decision{"the same decision": again, "another recommendation": recommended} {
		if (&Decided{Decision: d}).decisionMoved(first) {
			t.Errorf("%s is a reason to write", what)
		}
	}
	other := decide(3, 2*time.Minute)
	if got := DecisionOf(other, 3, first); got.Time.Equal(&first.Time) {
		t.Errorf("another decision: %+v", got)
	}
	if w := (&Decided{Decision: other}); !w.decisionMoved(first) || !w.decisionMoved(nil) {
		t.Error("another decision has not moved")
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
