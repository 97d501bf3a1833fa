package slim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// The vertical side reads the same from a slim pod as from the whole one.
func TestSlimObjectsKeepWhatTheVerticalSideReads(t *testing.T) {
	cpu := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(q)}
	}
	whole := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", Namespace: "shop", UID: "1", Generation: 4, Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"vpaObservedContainers": "web", "vpaCpuStartupBoost/web": `{"requests":{"cpu":"1"}}`,
				"kubectl.kubernetes.io/other": "long",
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: new(bool)},
				{Kind: "Job", Name: "j", Controller: truth()}},
		},
		Spec: corev1.PodSpec{
			NodeName: "node", Priority: ptr.To[int32](2_000_000_000),
			Overhead:       cpu("20m"),
			InitContainers: []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: cpu("5m")}}},
			Containers: []corev1.Container{
				{
					Name: "web", Resources: corev1.ResourceRequirements{Requests: cpu("100m"), Limits: cpu("1")},
					Args: []string{"-XX:MaxRAMPercentage=75"},
					ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory,
						RestartPolicy: corev1.RestartContainer}},
				},
				{Name: "proxy", Resources: corev1.ResourceRequirements{Requests: cpu("0.05")}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: &metav1.Time{},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred,
					ObservedGeneration: 3},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name: "web", Image: "long", Resources: &corev1.ResourceRequirements{Requests: cpu("70m")},
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
						Reason: "CrashLoopBackOff", Message: "long",
					}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						Reason: "OOMKilled", ExitCode: 137, Message: "long",
					}},
				},
				{Name: "proxy", Image: "long", Resources: &corev1.ResourceRequirements{Requests: cpu("50m")}},
			},
		},
	}
	want := observevertical.Pod(whole)
	object, err := Transform(whole)
	if err != nil {
		t.Fatal(err)
	}
	slim := object.(*corev1.Pod)
	if diff := cmp.Diff(want, observevertical.Pod(slim), cmp.AllowUnexported(vertical.Amounts{})); diff != "" {
		t.Errorf("-of the whole pod +of the slim one:\n%s", diff)
	}
	if len(slim.Annotations) != 2 || len(slim.Status.Conditions) != 2 || len(slim.Status.ContainerStatuses) != 1 {
		t.Errorf("too much is kept: %v", slim)
	}
}

func truth() *bool {
	yes := true
	return &yes
}

// TestHeap: a slim pod keeps every setting by which a program takes a fraction of its memory limit.
func TestHeap(t *testing.T) {
	for name, c := range map[string]corev1.Container{
		"Java, in a command":      {Command: []string{"java", "-XX:MaxRAMPercentage=75"}},
		"Java, before version 10": {Args: []string{"-XX:MaxRAMFraction=2"}},
		"VictoriaMetrics":         {Args: []string{"-memory.allowedPercent", "60"}},
		"Node.js":                 {Env: []corev1.EnvVar{{Name: "NODE_OPTIONS", Value: "--max-old-space-size-percentage=75"}}},
		".NET, by a name":         {Env: []corev1.EnvVar{{Name: "DOTNET_GCHeapHardLimitPercent", Value: "4B"}}},
	} {
		t.Run(name, func(t *testing.T) {
			whole := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
			if !observevertical.Pod(whole).Containers[0].FixedHeap {
				t.Error("the whole pod has no fixed heap")
			}
			if !observevertical.Pod(Pod(whole)).Containers[0].FixedHeap {
				t.Error("the slim pod has no fixed heap")
			}
		})
	}
}
