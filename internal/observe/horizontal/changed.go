package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
)

// SpecChanged reports whether the HPA is another than before for a decision. API servers before
// 1.37 do not count generations.
func SpecChanged(old, hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	if old.Generation != hpa.Generation {
		return true
	}
	return old != hpa && hpa.Generation == 0 && !equality.Semantic.DeepEqual(&old.Spec, &hpa.Spec)
}

// IsSameSpec reports whether PolicyOf is the same for two states of one object. Their generations do not say so: a new
// version of the CustomResourceDefinition may have other defaults.
func IsSameSpec(old, hpa Autoscaler) bool {
	switch {
	case old.HorizontalPodAutoscaler == hpa.HorizontalPodAutoscaler:
		return true
	case old.Workload == nil || hpa.Workload == nil:
		return old.Workload == hpa.Workload && old.Annotations[ForecastAnnotation] == hpa.Annotations[ForecastAnnotation] &&
			equality.Semantic.DeepEqual(&old.Spec, &hpa.Spec)
	default:
		return old.Workload.Unreadable == hpa.Workload.Unreadable &&
			equality.Semantic.DeepEqual(&old.Workload.Spec, &hpa.Workload.Spec)
	}
}

// IsStatusChanged is StatusChanged of either kind.
func IsStatusChanged(old, object Autoscaler) bool {
	if old.Workload != nil && object.Workload != nil {
		return !equality.Semantic.DeepEqual(&old.Workload.Status, &object.Workload.Status)
	}
	return StatusChanged(old.HorizontalPodAutoscaler, object.HorizontalPodAutoscaler)
}

// StatusChanged reports whether the HPA's status is another than before.
func StatusChanged(old, hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return !equality.Semantic.DeepEqual(&old.Status, &hpa.Status)
}
