package vertical

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Only the condition of a ReplicaSet or a ReplicationController about pods that it cannot create counts.
func TestFailedCreate(t *testing.T) {
	set := func(status corev1.ConditionStatus, reason string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{
			{Type: appsv1.ReplicaSetReplicaFailure, Status: status, Reason: reason},
		}}}
	}
	controller := &corev1.ReplicationController{Status: corev1.ReplicationControllerStatus{
		Conditions: []corev1.ReplicationControllerCondition{
			{Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"},
		}}}
	for why, c := range map[string]struct {
		controller any
		want       bool
	}{
		"a ReplicaSet":                   {set(corev1.ConditionTrue, "FailedCreate"), true},
		"it cannot delete":               {set(corev1.ConditionTrue, "FailedDelete"), false},
		"it can again":                   {set(corev1.ConditionFalse, "FailedCreate"), false},
		"a ReplicationController":        {controller, true},
		"one that says nothing":          {&corev1.ReplicationController{}, false},
		"a kind that never says so":      {&appsv1.StatefulSet{}, false},
		"a controller that is not there": {nil, false},
	} {
		if got := FailedCreate(c.controller); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
}
