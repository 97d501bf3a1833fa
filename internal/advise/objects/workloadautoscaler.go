package objects

import (
	"encoding/json"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// addWorkloadAutoscaler adds a WorkloadAutoscaler as an HPA with the same spec, as far as an HPA has it.
func addWorkloadAutoscaler(c *Collection, o *Object) error {
	w, err := decode(o, func(t *plimsollv1alpha1.WorkloadAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	text, err := json.Marshal(&w.Spec)
	if err != nil {
		return err
	}
	spec := &autoscalingv2.HorizontalPodAutoscalerSpec{}
	if err := json.Unmarshal(text, spec); err != nil {
		return err
	}
	put(c, &c.Horizontals, o, &Horizontal{
		Object: *o, Spec: spec, Workload: &w.Spec, Status: &autoscalingv2.HorizontalPodAutoscalerStatus{
			LastScaleTime: w.Status.LastScaleTime, CurrentReplicas: w.Status.CurrentReplicas,
			DesiredReplicas: w.Status.DesiredReplicas,
		},
	})
	return nil
}

// Describe names the object with its kind.
func (h *Horizontal) Describe() string { return h.Noun() + " " + h.Name }

// Noun is the kind as texts call it.
func (h *Horizontal) Noun() string {
	switch {
	case h.Workload != nil:
		return WLA
	case h.IsScaledObject:
		return ScaledObject
	}
	return "HPA"
}

// CountsOwnPods reports whether pods of others with the target's labels do not count.
func (h *Horizontal) CountsOwnPods() bool {
	return h.Workload != nil && h.Workload.SelectionStrategy == plimsollv1alpha1.SelectionStrategyOwnerReference
}
