package recommender

import (
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// TestSharedTargets: a target is shared by another version of its group, and not by another group.
func TestSharedTargets(t *testing.T) {
	of := func(name, version string) *vpav1.VerticalPodAutoscaler {
		return &vpav1.VerticalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
				APIVersion: version, Kind: "Deployment", Name: "web",
			}},
		}
	}
	messages := sharedTargets([]*vpav1.VerticalPodAutoscaler{
		of("built-in", "apps/v1"), of("custom", "example.com/v1"), of("newer", "example.com/v2"),
	})
	for name, isShared := range map[string]bool{"built-in": false, "custom": true, "newer": true} {
		if got := messages[types.NamespacedName{Namespace: "shop", Name: name}]; (got != "") != isShared {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestIneffectivePolicies: a policy for a container that no pod has is a condition and an event after a while. It ends
// with the first pod that has the container, and does not change while there are no pods.
func TestIneffectivePolicies(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		kind := status.ConfigIneffective.String()
		policy := func(v *vpav1.VerticalPodAutoscaler) {
			v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{ContainerName: "ap"}}}
		}
		for _, name := range []string{"web", "gone"} {
			w.deployment(name, 1)
			w.autoscaler(name, policy)
		}
		w.start()
		w.pass(time.Minute / 2)
		if c := w.condition("web", kind); c != nil {
			t.Errorf("a rollout may be about to add the container: %v", c)
		}
		w.pass(3 * time.Minute)
		for _, name := range []string{"web", "gone"} {
			c := w.condition(name, kind)
			if c == nil || c.Status != corev1.ConditionTrue || c.Reason != "ContainerPolicies" ||
				c.Message != "the policy for ap has no effect: no pod has such a container" {
				t.Errorf("%s: %v", name, c)
			}
			if n := w.warnings(name, kind); n != 1 {
				t.Errorf("%s: %d events, want one", name, n)
			}
			if c := w.condition(name, "RecommendationProvided"); c == nil || c.Status != corev1.ConditionTrue {
				t.Errorf("%s: RecommendationProvided is %v, want upstream's True", name, c)
			}
		}
		w.podOf("web", "web-new", "ap")
		w.pods.Delete(w.running["gone-0"])
		w.pass(5 * time.Minute)
		if c := w.condition("web", kind); c != nil {
			t.Errorf("a pod has the container: %v", c)
		}
		if c := w.condition("gone", kind); c == nil {
			t.Error("without pods nothing shows that the policy has an effect")
		}
	})
}
