package updater

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// TestRefusalOfANode: after the kubelet of a node has refused to resize one Guaranteed pod, since its CPU manager is
// static, no other one on the node is resized. The mode decides whether it is evicted.
func TestRefusalOfANode(t *testing.T) {
	const static = `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`
	for name, tt := range map[string]struct {
		mode             vpav1.UpdateMode
		message, reason  string
		resizes, evicted int
		isOnAnotherNode  bool
	}{
		"not refused":                {mode: vpav1.UpdateModeInPlace, resizes: 2},
		"refused, in place":          {mode: vpav1.UpdateModeInPlace, message: static, reason: "StaticPolicy"},
		"refused, in place or evict": {mode: vpav1.UpdateModeInPlaceOrRecreate, message: static, evicted: 2},
		"refused for lack of room":   {mode: vpav1.UpdateModeInPlace, message: "Node didn't have enough capacity: cpu", resizes: 2},
		"refused by another node":    {mode: vpav1.UpdateModeInPlace, message: static, isOnAnotherNode: true, resizes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) {
				c.Gates.InPlace = true
				addNodes(t, c.Client)
				for _, pod := range []string{"web-1-a", "web-1-b", "db-1-a"} {
					changePod(t, c.Client, pod, makeGuaranteed)
				}
				changePod(t, c.Client, "db-1-a", func(p *corev1.Pod) {
					if tt.isOnAnotherNode {
						p.Spec.NodeName = "other"
					}
					if tt.message != "" {
						p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending,
							Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: tt.message})
					}
				})
			}, "web", "db")
			r.object("web").Spec.UpdatePolicy.UpdateMode = ptr.To(tt.mode)
			r.object("db").Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeOff)
			resizes := 0
			r.client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if a.GetSubresource() == "resize" {
					resizes++
				}
				return true, &corev1.Pod{}, nil
			})
			r.passOnce()
			if resizes != tt.resizes || len(r.evicted) != tt.evicted {
				t.Errorf("%d resizes and %q evicted, want %d and %d", resizes, r.evicted, tt.resizes, tt.evicted)
			}
			isRefused := tt.message == static && !tt.isOnAnotherNode
			u := r.UpdaterState(types.NamespacedName{Namespace: namespace, Name: "web"})
			if u == nil || u.KubeletRefusals["node"].StaticCPU != isRefused {
				t.Errorf("plimsoll explain reads %+v, want a static CPU manager: %t", u, isRefused)
			}
			if tt.reason != "" {
				if got := r.reasonsOf("web"); len(got) != 1 || got[0] != "True "+tt.reason {
					t.Errorf("UpdateBlocked %q, want %s", got, tt.reason)
				}
			}
		})
	}
}

func addNodes(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for _, node := range []string{"node", "other"} {
		_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Status:     corev1.NodeStatus{Allocatable: amounts("32", "64Gi")},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func changePod(t *testing.T, client kubernetes.Interface, name string, change func(*corev1.Pod)) {
	t.Helper()
	pods := client.CoreV1().Pods(namespace)
	p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(p)
	if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func makeGuaranteed(p *corev1.Pod) {
	both := amounts("100m", "100Mi")
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: both, Limits: both}
	p.Status.QOSClass = corev1.PodQOSGuaranteed
}

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}
