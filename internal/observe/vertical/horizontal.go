package vertical

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// HorizontalOf is what a HorizontalPodAutoscaler divides by.
func HorizontalOf(hpa *autoscalingv2.HorizontalPodAutoscaler) conflict.Horizontal {
	h := conflict.Horizontal{Name: hpa.Name}
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
