package horizontal

import (
	"k8s.io/apimachinery/pkg/api/equality"
)

// SpecChanged reports whether the object is another than before for a decision. API servers before
// 1.37 do not count generations.
func SpecChanged(old, now Autoscaler) bool {
	if old.Generation != now.Generation {
		return true
	}
	return old != now && now.Generation == 0 && !isSpecEqual(old, now)
}

// IsSameSpec reports whether PolicyOf is the same for two states of one object. Their generations do not say so: a new
// version of the CustomResourceDefinition may have other defaults.
func IsSameSpec(old, now Autoscaler) bool {
	switch {
	case old == now:
		return true
	case old.Kind() != now.Kind() || !isSpecEqual(old, now):
		return false
	case now.IsWorkload():
		return old.Workload.Unreadable == now.Workload.Unreadable
	}
	return old.Annotations[ForecastAnnotation] == now.Annotations[ForecastAnnotation]
}

// isSpecEqual is for two objects of one kind.
func isSpecEqual(old, now Autoscaler) bool {
	if now.IsWorkload() {
		return equality.Semantic.DeepEqual(&old.Workload.Spec, &now.Workload.Spec)
	}
	return equality.Semantic.DeepEqual(&old.HPA.Spec, &now.HPA.Spec)
}

// HaveSameMetrics reports whether two states of one object ask for the same metrics.
func HaveSameMetrics(old, now Autoscaler) bool {
	switch {
	case old == now:
		return true
	case now.IsWorkload():
		return equality.Semantic.DeepEqual(old.Workload.Spec.Metrics, now.Workload.Spec.Metrics)
	}
	return equality.Semantic.DeepEqual(old.HPA.Spec.Metrics, now.HPA.Spec.Metrics)
}

// StatusChanged reports whether the object's status is another than before.
func StatusChanged(old, now Autoscaler) bool {
	if now.IsWorkload() {
		return !equality.Semantic.DeepEqual(&old.Workload.Status, &now.Workload.Status)
	}
	return !equality.Semantic.DeepEqual(&old.HPA.Status, &now.HPA.Status)
}
