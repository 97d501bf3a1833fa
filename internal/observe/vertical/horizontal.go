package vertical

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// HorizontalOf is what a HorizontalPodAutoscaler divides by.
func HorizontalOf(hpa *autoscalingv2.HorizontalPodAutoscaler) conflict.Horizontal {
	return horizontalOf(observe.HorizontalPodAutoscaler, hpa)
}

// HorizontalsOf are an HPA or a WorkloadAutoscaler that changes a replica count, with what it divides by. In mode
// Preview a WorkloadAutoscaler changes none; a pause ends, so that one in mode Paused counts.
func HorizontalsOf(a observehorizontal.Autoscaler) []conflict.Horizontal {
	if a.Workload != nil && a.Workload.Spec.Mode == plimsollv1alpha1.ModePreview {
		return nil
	}
	return []conflict.Horizontal{horizontalOf(a.Key().Kind, a.HorizontalPodAutoscaler)}
}

func horizontalOf(kind observe.Kind, hpa *autoscalingv2.HorizontalPodAutoscaler) conflict.Horizontal {
	h := conflict.Horizontal{Name: conflict.Name{Kind: kind.String(), Name: hpa.Name}}
	for i := range hpa.Spec.Metrics {
		switch m := &hpa.Spec.Metrics[i]; {
		case m.Resource != nil && m.Resource.Target.AverageUtilization != nil:
			target(&h, m.Resource.Name, "")
		case m.ContainerResource != nil && m.ContainerResource.Target.AverageUtilization != nil:
			target(&h, m.ContainerResource.Name, m.ContainerResource.Container)
		}
	}
	return h
}

func target(h *conflict.Horizontal, name corev1.ResourceName, container string) {
	for r := range vertical.Resource(vertical.Resources) {
		if NameOf(r) == name {
			h.Targets = append(h.Targets, conflict.Target{Resource: r, Container: container})
		}
	}
}
