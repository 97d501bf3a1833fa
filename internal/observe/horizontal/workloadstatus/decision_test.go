package workloadstatus

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// TestDecisionKeepsItsTime: a decision has the time of the first one that means the same, and then differs in nothing
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
	again := decide(7, time.Minute)
	if got := DecisionOf(again, 3, first); !got.Time.Equal(&first.Time) || *got.RecommendedReplicas != 7 {
		t.Errorf("the same decision on another number: %+v", got)
	}
	if (&Decided{Decision: again}).decisionMoved(first) {
		t.Error("the same decision on another number has moved")
	}
	other := decide(3, 2*time.Minute)
	if got := DecisionOf(other, 3, first); got.Time.Equal(&first.Time) {
		t.Errorf("another decision: %+v", got)
	}
	if w := (&Decided{Decision: other}); !w.decisionMoved(first) || !w.decisionMoved(nil) {
		t.Error("another decision has not moved")
	}
}
