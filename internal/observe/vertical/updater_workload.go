package vertical

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaxUnavailableOf returns the maximum of unavailable pods in a DaemonSet's rolling update; false if it has none.
func MaxUnavailableOf(set *appsv1.DaemonSet) (int, bool) {
	strategy := &set.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || strategy.RollingUpdate == nil ||
		strategy.RollingUpdate.MaxUnavailable == nil {
		return 0, false
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(strategy.RollingUpdate.MaxUnavailable,
		int(set.Status.DesiredNumberScheduled), true)
	return most, err == nil
}

// FailedCreate reports whether a controller's status shows that its pods cannot be created: a quota, a policy or a
// webhook refuses them. Only ReplicaSets and ReplicationControllers have such a condition; the others only have events.
func FailedCreate(controller any) bool {
	const why = "FailedCreate"
	switch o := controller.(type) {
	case *appsv1.ReplicaSet:
		return slices.ContainsFunc(o.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
			return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == why
		})
	case *corev1.ReplicationController:
		return slices.ContainsFunc(o.Status.Conditions, func(c corev1.ReplicationControllerCondition) bool {
			return c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == why
		})
	}
	return false
}
