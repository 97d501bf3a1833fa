package updater

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
				pods := c.Client.CoreV1().Pods(namespace)
				for _, node := range []string{"node", "other"} {
					all := corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("64Gi")}
					_, err := c.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
						ObjectMeta: metav1.ObjectMeta{Name: node}, Status: corev1.NodeStatus{Allocatable: all},
					}, metav1.CreateOptions{})
					if err != nil {
						t.Fatal(err)
					}
				}
				for _, pod := range []string{"web-1-a", "web-1-b", "db-1-a"} {
					p, err := pods.Get(t.Context(), pod, metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					both := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("100Mi")}
					p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: both, Limits: both}
					p.Status.QOSClass = corev1.PodQOSGuaranteed
					if pod == "db-1-a" && tt.message != "" {
						p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending,
							Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: tt.message})
					}
					if pod == "db-1-a" && tt.isOnAnotherNode {
						p.Spec.NodeName = "other"
					}
					if _, err := pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
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
			if tt.reason != "" {
				if got := r.reasonsOf("web"); len(got) != 1 || got[0] != "True "+tt.reason {
					t.Errorf("UpdateBlocked %q, want %s", got, tt.reason)
				}
			}
		})
	}
}
