package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// ordeal is one kind of bad input for an object that was fine.
type ordeal struct {
	// breaks makes the trouble and heals ends it.
	breaks, heals func(s *harness.Namespace)
	// condition is the object's condition then, event the reason of the Warning event. Both messages contain the texts:
	// the error, with the names of object and field.
	condition symptom
	event     string
	words     []string
}

// symptom is a condition that is False.
type symptom struct {
	kind   autoscalingv2.HorizontalPodAutoscalerConditionType
	reason string
}

func unable(reason string) symptom   { return symptom{autoscalingv2.AbleToScale, reason} }
func inactive(reason string) symptom { return symptom{autoscalingv2.ScalingActive, reason} }

// web makes the objects of most ordeals: two pods, a load for two, and an object that scales by the metric.
func web(s *harness.Namespace, metric autoscalingv2.MetricSpec) {
	w := harness.Workload{Replicas: ptr.To[int32](2)}
	s.Create(w.Deployment(), w.Service(15), harness.Queue("jobs", 15), harness.Autoscaler("web", metric))
}

// more raises the loads of web so that four pods are wanted.
func more(s *harness.Namespace) {
	s.SetLoad("web", 35)
	s.SetQueue("jobs", 35)
}

// undergo puts the object "web" through the ordeal: it has the condition, it does not scale although more pods are
// wanted, and it does as soon as the fault ends.
func (o ordeal) undergo(t *testing.T, s *harness.Namespace) {
	t.Helper()
	awaitFine(s, "web")
	record := s.WatchCounts("web")
	o.breaks(s)
	s.AwaitHPA("web", "the symptom", o.shown)
	if event := s.AwaitEvent("web", o.event, o.words[0]); event.Type != corev1.EventTypeWarning {
		t.Errorf("the event's type is %s, want Warning", event.Type)
	} else if err := contains("event", event.Message, o.words); err != nil {
		t.Error(err)
	}
	more(s)
	s.AwaitDecisions("web", 3)
	if err := o.shown(s.HPA("web")); err != nil {
		t.Errorf("the trouble did not last: %v", err)
	}
	wantCounts(t, record, 2)
	o.heals(s)
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
	wantCounts(t, record, 2, 4)
}

// shown reports nil if the object has the symptom.
func (o ordeal) shown(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	c := conditionOf(hpa, o.condition.kind)
	if c.Status != corev1.ConditionFalse || c.Reason != o.condition.reason {
		return fmt.Errorf("condition %s is %s %s, want False %s", o.condition.kind, c.Status, c.Reason, o.condition.reason)
	}
	return contains("condition", c.Message, o.words)
}

func conditionOf(hpa *autoscalingv2.HorizontalPodAutoscaler, kind autoscalingv2.HorizontalPodAutoscalerConditionType,
) autoscalingv2.HorizontalPodAutoscalerCondition {
	for _, c := range hpa.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return autoscalingv2.HorizontalPodAutoscalerCondition{}
}

func contains(what, message string, words []string) error {
	for _, w := range words {
		if !strings.Contains(message, w) {
			return fmt.Errorf("the %s's message %q does not contain %q", what, message, w)
		}
	}
	return nil
}

// awaitFine waits until the object can be scaled and is, by its metrics.
func awaitFine(s *harness.Namespace, name string) {
	s.AwaitHPA(name, "good health", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if c := conditionOf(hpa, autoscalingv2.AbleToScale); c.Status != corev1.ConditionTrue {
			return fmt.Errorf("AbleToScale is %s", c.Status)
		}
		return harness.Has(hpa, harness.Condition{
			Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
		})
	})
}

// wantCounts compares all counts that there were.
func wantCounts(t *testing.T, record *harness.Record, want ...int32) {
	t.Helper()
	got, err := record.Replicas()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("counts %s, want %v", record, want)
	}
}

// wantAscent checks that the count went from one to the other, and never down.
func wantAscent(t *testing.T, record *harness.Record, from, to int32) {
	t.Helper()
	got, err := record.Replicas()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(got) || got[0] != from || got[len(got)-1] != to {
		t.Errorf("counts %s, want them to rise from %d to %d", record, from, to)
	}
}
