package vertical

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// HorizontalOf returns the resources by which an HPA or a WorkloadAutoscaler divides, whether it changes a replica
// count or not.
func HorizontalOf(a observehorizontal.Autoscaler) conflict.Horizontal {
	h := conflict.Horizontal{Name: conflict.Name{Kind: a.Kind().String(), Name: a.Name}}
	for i := range a.NumMetrics() {
		m := a.Metric(i)
		if (m.Type == source.Resource || m.Type == source.ContainerResource) && m.Target.AverageUtilization != nil {
			target(&h, corev1.ResourceName(m.Name), m.Container)
		}
	}
	return h
}

// HorizontalsOf returns an HPA or a WorkloadAutoscaler that changes a replica count, with the resources by which it
// divides. In mode Preview a WorkloadAutoscaler changes none; a pause ends, so that one in mode Paused counts.
func HorizontalsOf(a observehorizontal.Autoscaler) []conflict.Horizontal {
	if a.IsPreview() {
		return nil
	}
	return []conflict.Horizontal{HorizontalOf(a)}
}

func target(h *conflict.Horizontal, name corev1.ResourceName, container string) {
	for r := range vertical.Resource(vertical.Resources) {
		if NameOf(r) == name {
			h.Targets = append(h.Targets, conflict.Target{Resource: r, Container: container})
		}
	}
}
