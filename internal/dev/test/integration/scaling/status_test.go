package scaling

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func TestStatusAndEvents(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	began := time.Now().Add(-time.Second) // times in the API are whole seconds
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 5),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitHPA("web", "first status", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		return both(observed(hpa), hasValidMetric(hpa), currentReplicas(hpa, 1))
	})
	if last := s.HPA("web").Status.LastScaleTime; last != nil {
		t.Errorf("lastScaleTime %s before any scaling", last)
	}

	s.SetQueue("jobs", 35)
	s.AwaitReplicas(harness.Deployment, "web", 4)
	s.AwaitHPA("web", "status of 4 replicas", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		return both(observed(hpa), hasValidMetric(hpa), currentReplicas(hpa, 4), wantsReplicas(hpa, 4),
			scaledSince(hpa, began), queueShown(hpa, "8750m"))
	})
	const message = "New size: 4; reason: external metric queue_length(&LabelSelector{MatchLabels:map[string]string{service: jobs,}," +
		"MatchExpressions:[]LabelSelectorRequirement{},}) above target"
	event := s.AwaitEvent("web", "SuccessfulRescale", "New size: 4")
	if event.Message != message {
		t.Errorf("event %q, want %q", event.Message, message)
	}
	if event.Source.Component != "horizontal-pod-autoscaler" && event.ReportingController != "horizontal-pod-autoscaler" {
		t.Errorf("event of %q and %q, want horizontal-pod-autoscaler", event.Source.Component, event.ReportingController)
	}
	if event.Type != corev1.EventTypeNormal {
		t.Errorf("event of type %s", event.Type)
	}
	if got := len(s.Events("web", "SuccessfulRescale")); got != 1 {
		t.Errorf("%d events SuccessfulRescale, want one", got)
	}

	// A changed spec is acted on, and the status has its generation.
	s.UpdateHPA("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
		hpa.Spec.Metrics = []autoscalingv2.MetricSpec{harness.QueueLength("jobs", harness.AverageValue("5"))}
	})
	if generation := s.HPA("web").Generation; generation < 2 {
		t.Errorf("generation %d after a change of the spec", generation)
	}
	s.AwaitReplicas(harness.Deployment, "web", 7)
	s.AwaitHPA("web", "status of the new generation", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		return both(observed(hpa), queueShown(hpa, "5"))
	})
}

func observed(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	if got := hpa.Status.ObservedGeneration; got == nil || *got != hpa.Generation {
		return fmt.Errorf("status.observedGeneration is not %d", hpa.Generation)
	}
	return nil
}

func wantsReplicas(hpa *autoscalingv2.HorizontalPodAutoscaler, want int32) error {
	if got := hpa.Status.DesiredReplicas; got != want {
		return fmt.Errorf("status.desiredReplicas is %d, not %d", got, want)
	}
	return nil
}

func scaledSince(hpa *autoscalingv2.HorizontalPodAutoscaler, began time.Time) error {
	last := hpa.Status.LastScaleTime
	if last == nil || last.Time.Before(began) || last.Time.After(time.Now().Add(time.Second)) {
		return fmt.Errorf("status.lastScaleTime is %v", last)
	}
	return nil
}

func queueShown(hpa *autoscalingv2.HorizontalPodAutoscaler, average string) error {
	for _, m := range hpa.Status.CurrentMetrics {
		if m.External != nil && m.External.Current.AverageValue != nil &&
			m.External.Current.AverageValue.String() == average {
			return nil
		}
	}
	return fmt.Errorf("status.currentMetrics without a queue of %s for each pod", average)
}
