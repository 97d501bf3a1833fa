package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestPodResources: a pod that requests 500m and 512Mi as a whole, 100m of it for a sidecar, gets no more, nor a boost
// beyond it.
func TestPodResources(t *testing.T) {
	vpa := shop()
	vpa.Status.Recommendation.ContainerRecommendations[0].Target = corev1.ResourceList{
		"cpu": resource.MustParse("300m"), "memory": resource.MustParse("800Mi"),
	}
	factor := int32(3)
	vpa.Spec.StartupBoost = &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{
		Type: vpav1.FactorStartupBoostType, Factor: &factor,
	}}
	const pod = `{"metadata":{"annotations":{"a":"b"}},"spec":{"resources":{"requests":{"cpu":"500m","memory":"512Mi"},"limits":{"cpu":"1","memory":"512Mi"}},
"initContainers":[{"name":"first","resources":{"requests":{"cpu":"400m"}}},{"name":"mesh","restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}}],
"containers":[{"name":"web","resources":{"requests":{"cpu":"200m","memory":"256Mi"}}}]}}`
	h := newHandler(t, always(vpa),
		func(cfg *Config) { cfg.Options = admit.Options{Boosts: true, Divergences: divergence.Default} })
	response, _ := ask(t, h, review(pods, pod))
	want := []string{
		`add /metadata/annotations/vpaCpuStartupBoost~1web "{\"requests\":{\"cpu\":\"200m\",\"memory\":\"256Mi\"},\"limits\":{}}"`,
		`add /spec/containers/0/resources/requests/cpu "400m"`,
		`add /spec/containers/0/resources/requests/memory "512Mi"`,
		`add /metadata/annotations/vpaUpdates "Pod resources updated by shop: container 0: memory capped to fit the pod's resources, cpu request, memory request"`,
		`add /metadata/annotations/vpaObservedContainers "web"`,
	}
	if diff := cmp.Diff(want, operations(t, response)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
