package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Autoscaler is an object that sets its target's replica count, in the one form that the loop
// works with. Two are equal if they are the same state of the same object in the cache.
type Autoscaler struct {
	// HorizontalPodAutoscaler has the object's metadata, and the parts of spec and status that
	// an HPA has.
	*autoscalingv2.HorizontalPodAutoscaler
	// Workload is the object itself if it is a WorkloadAutoscaler; nil for an HPA.
	Workload *plimsollv1alpha1.WorkloadAutoscaler
}

// HPA is a HorizontalPodAutoscaler in that form.
func HPA(hpa *autoscalingv2.HorizontalPodAutoscaler) Autoscaler {
	return Autoscaler{HorizontalPodAutoscaler: hpa}
}

// Kind is the object's kind.
func (a *Autoscaler) Kind() observe.Kind {
	if a.Workload != nil {
		return observe.WorkloadAutoscaler
	}
	return observe.HorizontalPodAutoscaler
}

// Key names the object.
func (a *Autoscaler) Key() observe.Key {
	return observe.Key{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, Kind: a.Kind()}
}

// SelectsByOwner reports whether only those of the selected pods count that the target owns.
func (a *Autoscaler) SelectsByOwner() bool {
	return a.Workload != nil && a.Workload.Spec.SelectionStrategy == plimsollv1alpha1.SelectionStrategyOwnerReference
}

// IsPreview reports whether nothing is written of the object's decisions because it asks for that.
func (a *Autoscaler) IsPreview() bool {
	return a.Workload != nil && a.Workload.Spec.Mode == plimsollv1alpha1.ModePreview
}

// SyncPeriod is how often the object is decided, at least: what its spec says, or else the controller's.
func (a *Autoscaler) SyncPeriod(controllers time.Duration) time.Duration {
	if a.Workload != nil && a.Workload.Spec.SyncPeriodSeconds != nil {
		return time.Duration(*a.Workload.Spec.SyncPeriodSeconds) * time.Second
	}
	return controllers
}

// Object is the API's object, for events.
func (a *Autoscaler) Object() runtime.Object {
	if a.Workload != nil {
		return a.Workload
	}
	return a.HorizontalPodAutoscaler
}
