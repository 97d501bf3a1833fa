package recommender

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// TestRecommendationsAreShown: the series have the recommendations, and those that a maximum caps.
func TestRecommendationsAreShown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		registry := prometheus.NewRegistry()
		w.deployment("web", 2)
		w.autoscaler("web", func(v *vpav1.VerticalPodAutoscaler) {
			v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{
				ContainerName: "*", MaxAllowed: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("50m")},
			}}}
		})
		w.start(func(cfg *Config) { cfg.Registerer = registry })
		w.pass(2 * time.Minute)
		want := `
# HELP plimsoll_vertical_capped 1 if maxAllowed or a flag's maximum caps the recommendation.
# TYPE plimsoll_vertical_capped gauge
plimsoll_vertical_capped{container="app",namespace="shop",resource="cpu",vpa_name="web"} 1
# HELP plimsoll_vertical_unlisted_objects Objects without series of their own because there are too many objects.
# TYPE plimsoll_vertical_unlisted_objects gauge
plimsoll_vertical_unlisted_objects 0
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "plimsoll_vertical_capped",
			"plimsoll_vertical_unlisted_objects"); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(registry, "plimsoll_vertical_target"); err != nil || n != 2 {
			t.Errorf("%d targets are shown, %v; want CPU and memory", n, err)
		}
	})
}
