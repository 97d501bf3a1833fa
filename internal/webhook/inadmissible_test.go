package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestInadmissiblePod: maxAllowed is below the min of a LimitRange, so a pod with the recommendation would be refused,
// and the workload could create none. The pod keeps its own resources, with the reason.
func TestInadmissiblePod(t *testing.T) {
	vpa := shop()
	vpa.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{
		ContainerName: "*", MaxAllowed: corev1.ResourceList{"cpu": resource.MustParse("100m")},
	}}}
	h := newHandler(t, always(vpa), func(cfg *Config) {
		cfg.Options = admit.Options{Divergences: divergence.Default}
		cfg.Ranges = func(string) *bounds.Ranges {
			return &bounds.Ranges{Container: bounds.Range{Min: vertical.Amounts{}.With(vertical.CPU, 200)}}
		}
	})
	const pod = `{"metadata":{"annotations":{"a":"b"}},
"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"300m"}}}]}}`
	response, _ := ask(t, h, review(pods, pod))
	const why = "no resources of shop: cpu of container web: the min of a LimitRange is not reached"
	want := []string{
		`add /metadata/annotations/plimsoll.dev~1not-updated "` + why + `"`,
		`add /metadata/annotations/vpaObservedContainers "web"`,
	}
	if diff := cmp.Diff(want, operations(t, response)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !response.Allowed || len(response.Warnings) != 1 || !strings.HasPrefix(response.Warnings[0], why) {
		t.Errorf("allowed %t, warnings %q", response.Allowed, response.Warnings)
	}
	if n := testutil.ToFloat64(h.cfg.Metrics.failures.WithLabelValues(string(Inadmissible))); n != 1 {
		t.Errorf("%v pods are counted, want 1", n)
	}
}
