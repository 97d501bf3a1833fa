package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Autoscaler is an object that sets its target's replica count, in the one form that the loop works with. The object
// is only read. Two are equal if they are the same state of the same object in the cache.
type Autoscaler struct {
	*metav1.ObjectMeta
	// HPA is the object if it is an HPA, and Workload if it is a WorkloadAutoscaler. The other one is nil.
	HPA      *autoscalingv2.HorizontalPodAutoscaler
	Workload *plimsollv1alpha1.WorkloadAutoscaler
}

// HPA is a HorizontalPodAutoscaler in that form.
func HPA(hpa *autoscalingv2.HorizontalPodAutoscaler) Autoscaler {
	return Autoscaler{ObjectMeta: &hpa.ObjectMeta, HPA: hpa}
}

// WorkloadAutoscaler is a WorkloadAutoscaler in that form.
func WorkloadAutoscaler(wla *plimsollv1alpha1.WorkloadAutoscaler) Autoscaler {
	return Autoscaler{ObjectMeta: &wla.ObjectMeta, Workload: wla}
}

// Either is the object that is not nil in that form.
func Either(hpa *autoscalingv2.HorizontalPodAutoscaler, wla *plimsollv1alpha1.WorkloadAutoscaler) Autoscaler {
	if wla != nil {
		return WorkloadAutoscaler(wla)
	}
	return HPA(hpa)
}

// IsWorkload reports whether the object is a WorkloadAutoscaler.
func (a Autoscaler) IsWorkload() bool { return a.Workload != nil }

// Kind is the object's kind.
func (a Autoscaler) Kind() observe.Kind {
	if a.IsWorkload() {
		return observe.WorkloadAutoscaler
	}
	return observe.HorizontalPodAutoscaler
}

// Object is the API's object, for events.
func (a Autoscaler) Object() runtime.Object {
	if a.IsWorkload() {
		return a.Workload
	}
	return a.HPA
}

// Key names the object.
func (a Autoscaler) Key() observe.Key {
	return observe.Key{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, Kind: a.Kind()}
}

// noExtras is what an HPA's spec has beyond that of an HPA.
var noExtras plimsollv1alpha1.WorkloadAutoscalerSpec

// extras has what the object's spec has beyond that of an HPA.
func (a Autoscaler) extras() *plimsollv1alpha1.WorkloadAutoscalerSpec {
	if a.IsWorkload() {
		return &a.Workload.Spec
	}
	return &noExtras
}

// SelectsByOwner reports whether only those of the selected pods count that the target owns.
func (a Autoscaler) SelectsByOwner() bool {
	return a.extras().SelectionStrategy == plimsollv1alpha1.SelectionStrategyOwnerReference
}

// IsPreview reports whether nothing is written of the object's decisions because it asks for that.
func (a Autoscaler) IsPreview() bool { return a.extras().Mode == plimsollv1alpha1.ModePreview }

// SyncPeriod is how often the object is decided, at least: what its spec says, or else the controller's.
func (a Autoscaler) SyncPeriod(controllers time.Duration) time.Duration {
	if period := a.extras().SyncPeriodSeconds; period != nil {
		return seconds(*period)
	}
	return controllers
}

// HasSchedules reports whether what the object asks for depends on the time of day.
func (a Autoscaler) HasSchedules() bool { return len(a.extras().Schedules) > 0 }

// Target names what the object scales.
func (a Autoscaler) Target() autoscalingv2.CrossVersionObjectReference {
	if a.IsWorkload() {
		return autoscalingv2.CrossVersionObjectReference(a.Workload.Spec.ScaleTargetRef)
	}
	return a.HPA.Spec.ScaleTargetRef
}

// TargetName is the target as upstream's messages name it.
func (a Autoscaler) TargetName() string {
	ref := a.Target()
	return ref.Kind + "/" + a.Namespace + "/" + ref.Name
}

// MinReplicas are those of the spec; nil if it names none.
func (a Autoscaler) MinReplicas() *int32 {
	if a.IsWorkload() {
		return a.Workload.Spec.MinReplicas
	}
	return a.HPA.Spec.MinReplicas
}

// MaxReplicas are those of the spec.
func (a Autoscaler) MaxReplicas() int32 {
	if a.IsWorkload() {
		return a.Workload.Spec.MaxReplicas
	}
	return a.HPA.Spec.MaxReplicas
}

// behavior is the spec's; nil if it has none.
func (a Autoscaler) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	if !a.IsWorkload() {
		return a.HPA.Spec.Behavior
	}
	b := a.Workload.Spec.Behavior
	if b == nil {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: scalingRulesOf(b.ScaleUp), ScaleDown: scalingRulesOf((*plimsollv1alpha1.ScaleUpRules)(b.ScaleDown)),
	}
}

func scalingRulesOf(r *plimsollv1alpha1.ScaleUpRules) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	rules := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds,
		SelectPolicy:               (*autoscalingv2.ScalingPolicySelect)(r.SelectPolicy), Tolerance: r.Tolerance,
	}
	for _, p := range r.Policies {
		rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{
			Type: autoscalingv2.HPAScalingPolicyType(p.Type), Value: p.Value, PeriodSeconds: p.PeriodSeconds,
		})
	}
	return rules
}
