package horizontal

import "k8s.io/apimachinery/pkg/api/equality"

// SpecChanged reports whether the object has changed for a decision. API servers before 1.37 do not count generations.
func SpecChanged(old, now Autoscaler) bool {
	if old.Generation != now.Generation {
		return true
	}
	return old != now && now.Generation == 0 && !equality.Semantic.DeepEqual(old.spec(), now.spec())
}

// IsSameSpec reports whether PolicyOf is the same for two states of one object. Their generations do not show that: a
// new version of the CustomResourceDefinition may have other defaults.
func IsSameSpec(old, now Autoscaler) bool {
	return old == now || old.Kind() == now.Kind() && old.besides() == now.besides() &&
		equality.Semantic.DeepEqual(old.spec(), now.spec())
}

// HaveSameMetrics reports whether two states of one object have the same metrics.
func HaveSameMetrics(old, now Autoscaler) bool {
	return old == now || equality.Semantic.DeepEqual(old.metrics(), now.metrics())
}

// StatusChanged reports whether the object's status has changed.
func StatusChanged(old, now Autoscaler) bool {
	return !equality.Semantic.DeepEqual(old.status(), now.status())
}
