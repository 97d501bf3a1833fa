package slim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The fields of workloads and nodes that the updater reads stay: whether pods can be created, how many may be
// unavailable, which nodes are ready.
func TestFieldsOfTheUpdaterStay(t *testing.T) {
	set := &appsv1.ReplicaSet{ObjectMeta: meta, Status: appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{
		{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			Message: "exceeded quota"},
	}}}
	daemons := &appsv1.DaemonSet{ObjectMeta: meta,
		Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType,
		}}}
	node := &corev1.Node{ObjectMeta: meta, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "no"},
	}}}
	var got [3]any
	for i, object := range []any{set, daemons, node} {
		slimmed, err := Transform(object)
		if err != nil {
			t.Fatal(err)
		}
		switch o := slimmed.(type) {
		case *appsv1.ReplicaSet:
			got[i] = o.Status.Conditions
		case *appsv1.DaemonSet:
			got[i] = o.Spec.UpdateStrategy
		case *corev1.Node:
			got[i] = o.Status.Conditions
		}
	}
	want := [3]any{
		[]appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			Reason: "FailedCreate"}},
		daemons.Spec.UpdateStrategy,
		[]corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
