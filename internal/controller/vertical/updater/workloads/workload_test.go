package workloads

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// TestReplicas: the number of pods that a controller wants, by its kind. Kubernetes counts no pods of Jobs, and of
// unknown kinds no number exists.
func TestReplicas(t *testing.T) {
	l := newCaches(informers.NewSharedInformerFactory(nil, 0))
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	for kind, object := range map[string]any{
		"Deployment": &appsv1.Deployment{
			ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
		},
		"ReplicaSet": &appsv1.ReplicaSet{
			ObjectMeta: meta("web"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](4)},
		},
		"StatefulSet": &appsv1.StatefulSet{
			ObjectMeta: meta("web"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5)},
		},
		"ReplicationController": &corev1.ReplicationController{
			ObjectMeta: meta("web"), Spec: corev1.ReplicationControllerSpec{Replicas: ptr.To[int32](6)},
		},
		"DaemonSet": &appsv1.DaemonSet{
			ObjectMeta: meta("web"), Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 7},
			Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(2))},
			}},
		},
	} {
		if err := l.counted[kind].GetStore().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.counted["Deployment"].GetStore().Add(&appsv1.Deployment{ObjectMeta: meta("unset")}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kind, name string
		want       disruption.Replicas
	}{
		{"Deployment", "web", disruption.Replicas{Configured: 3}},
		{"ReplicaSet", "web", disruption.Replicas{Configured: 4}},
		{"StatefulSet", "web", disruption.Replicas{Configured: 5}},
		{"ReplicationController", "web", disruption.Replicas{Configured: 6}},
		{"DaemonSet", "web", disruption.Replicas{Configured: 7, MaxUnavailable: 2, HasMaxUnavailable: true}},
		{"Deployment", "unset", disruption.Replicas{Unknown: true}},
		{"Deployment", "gone", disruption.Replicas{Unknown: true}},
		{"Job", "web", disruption.Replicas{AsFound: true}},
		{"CronJob", "web", disruption.Replicas{AsFound: true}},
		{"Rollout", "web", disruption.Replicas{}},
	} {
		if got := l.replicas("shop", tt.kind, tt.name); got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.kind, tt.name, got, tt.want)
		}
	}
}

// TestAssign: a pod belongs to the first candidate whose selector matches it.
func TestAssign(t *testing.T) {
	selecting := func(name, app string) *Workload {
		return &Workload{
			VPA:    &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}},
			Target: ownership.Target{Selector: labels.SelectorFromSet(labels.Set{"app": app})},
		}
	}
	first, second := selecting("first", "web"), selecting("second", "web")
	pod := func(app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}}
	}
	candidates := []*Workload{first, second}
	assign(candidates, "a", []*corev1.Pod{pod("web"), pod("other"), pod("web")})
	assign(candidates, "b", []*corev1.Pod{pod("web")})
	if len(first.Pods) != 3 || len(first.creators) != 2 || len(second.Pods) != 0 {
		t.Errorf("%d pods of %v, and %d of the second", len(first.Pods), first.creators, len(second.Pods))
	}
	if first.Key() != "shop/first" {
		t.Errorf("the key is %q", first.Key())
	}
}

// TestSize: the label is the binary logarithm of the number of pods, at most 20.
func TestSize(t *testing.T) {
	for pods, want := range map[int]string{0: "0", 1: "0", 2: "1", 7: "2", 8: "3", 1 << 21: "20"} {
		if got := (&Workload{Pods: make([]*corev1.Pod, pods)}).Size(); got != want {
			t.Errorf("%d pods: %q, want %q", pods, got, want)
		}
	}
}

func TestHasEnded(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodPending: false, corev1.PodRunning: false, corev1.PodSucceeded: true, corev1.PodFailed: true,
	} {
		if got := hasEnded(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%s: %t", phase, got)
		}
	}
}
