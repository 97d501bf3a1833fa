package vertical

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// TestLearnRefusal: the messages are those of the kubelet v1.37.1, with its reasons.
func TestLearnRefusal(t *testing.T) {
	able := resize.Node{Known: true, Linux: true, Resizes: true}
	with := func(change func(*resize.Node)) resize.Node {
		n := able
		change(&n)
		return n
	}
	const infeasible = corev1.PodReasonInfeasible
	for name, tt := range map[string]struct {
		kind            corev1.PodConditionType
		reason, message string
		want            resize.Node
	}{
		"static CPU manager": {corev1.PodResizePending, infeasible,
			`Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`,
			with(func(n *resize.Node) { n.Static[vertical.CPU] = true })},
		"static memory manager": {corev1.PodResizePending, infeasible,
			`Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`,
			with(func(n *resize.Node) { n.Static[vertical.Memory] = true })},
		"swap": {corev1.PodResizePending, infeasible, "In-place resize of containers with swap is not supported.",
			with(func(n *resize.Node) { n.Swaps = true })},
		"feature gate": {corev1.PodResizePending, infeasible, "InPlacePodVerticalScaling is disabled",
			with(func(n *resize.Node) { n.Resizes = false })},
		"another platform": {corev1.PodResizePending, infeasible, "In-place pod resize is not supported on this node",
			with(func(n *resize.Node) { n.Resizes = false })},
		"Windows": {corev1.PodResizePending, infeasible, "In-place pod resize is not supported on Windows",
			with(func(n *resize.Node) { n.Linux = false })},
		"pod-level resources, which do not change": {corev1.PodResizePending, infeasible,
			"InPlacePodLevelResourcesVerticalScaling is disabled", able},
		"no room": {corev1.PodResizePending, corev1.PodReasonDeferred,
			"Node didn't have enough resource: cpu, requested: 1000, used: 3200, capacity: 4000", able},
		"too small": {corev1.PodResizePending, infeasible,
			"Node didn't have enough capacity: cpu, requested: 9000, capacity: 4000", able},
		"in progress": {corev1.PodResizeInProgress, corev1.PodReasonError,
			"In-place resize of containers with swap is not supported.", able},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: tt.kind, Status: corev1.ConditionTrue, Reason: tt.reason, Message: tt.message},
			}}}
			got := able
			if LearnRefusal(&got, pod); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
