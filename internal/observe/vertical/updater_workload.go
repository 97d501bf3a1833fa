package vertical

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MaxUnavailableOf is how many pods of a DaemonSet its rolling update lets be away;
// false if it has none.
func MaxUnavailableOf(set *appsv1.DaemonSet) (int, bool) {
	strategy := &set.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || strategy.RollingUpdate == nil || strategy.RollingUpdate.MaxUnavailable == nil {
		return 0, false
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(strategy.RollingUpdate.MaxUnavailable, int(set.Status.DesiredNumberScheduled), true)
	return most, err == nil
}

// FailedCreate reports a ReplicaSet whose pods cannot be created: a quota, a policy
// or a webhook refuses them.
func FailedCreate(set *appsv1.ReplicaSet) bool {
	for i := range set.Status.Conditions {
		c := &set.Status.Conditions[i]
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == "FailedCreate" {
			return true
		}
	}
	return false
}
