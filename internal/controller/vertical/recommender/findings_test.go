package recommender

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
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
