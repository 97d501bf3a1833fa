package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// TestBoundsThatAreNoWholeBytes: 1.2Gi are 1288490188.8 bytes. The API server refuses a request or a limit of
// 1288490189 below it, and the workload could create no pod.
func TestBoundsThatAreNoWholeBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		values         vpav1.ContainerControlledValues
		pod            string
		max            string
		request, limit string
	}{
		"a limit that stays": {values: vpav1.ContainerControlledValuesRequestsOnly,
			pod:     `"containers":[{"name":"web","resources":{"requests":{"memory":"1Gi"},"limits":{"memory":"1.2Gi"}}}]`,
			request: "1288490188"},
		"the same request and limit": {values: vpav1.ContainerControlledValuesRequestsOnly,
			pod:     `"containers":[{"name":"web","resources":{"requests":{"memory":"1.2Gi"},"limits":{"memory":"1.2Gi"}}}]`,
			request: "1288490188"},
		"the limit that a LimitRange gives, which is its max": {values: vpav1.ContainerControlledValuesRequestsOnly,
			pod: `"containers":[{"name":"web","resources":{"requests":{"memory":"1.2Gi"},"limits":{"memory":"1.2Gi"}}}]`,
			max: "1.2Gi", request: "1288490188"},
		"limits in proportion below a LimitRange": {values: vpav1.ContainerControlledValuesRequestsAndLimits,
			pod: `"containers":[{"name":"web","resources":{"requests":{"memory":"1Gi"},"limits":{"memory":"1Gi"}}}]`,
			max: "1.2Gi", request: "1288490188", limit: "1288490188"},
		"resources of the pod": {values: vpav1.ContainerControlledValuesRequestsOnly,
			pod: `"resources":{"requests":{"memory":"1.2Gi"},"limits":{"memory":"1.2Gi"}},` +
				`"containers":[{"name":"web","resources":{"requests":{"memory":"1Gi"}}}]`,
			request: "1288490188"},
	} {
		t.Run(name, func(t *testing.T) {
			vpa := shop()
			vpa.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{
				ContainerName: "*", ControlledValues: &tt.values,
			}}}
			vpa.Status.Recommendation.ContainerRecommendations[0].Target = corev1.ResourceList{
				"memory": resource.MustParse("2Gi")}
			h := newHandler(t, always(vpa), func(cfg *Config) {
				cfg.Options = admit.Options{Divergences: divergence.Default}
				cfg.Ranges = func(string) *bounds.Ranges {
					if tt.max == "" {
						return nil
					}
					return observevertical.RangesOf([]*corev1.LimitRange{{Spec: corev1.LimitRangeSpec{
						Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
							Max: corev1.ResourceList{"memory": resource.MustParse(tt.max)}}}}}})
				}
			})
			response, _ := ask(t, h, review(pods, `{"metadata":{"annotations":{"a":"b"}},"spec":{`+tt.pod+`}}`))
			var want []string
			for kind, amount := range map[string]string{"requests": tt.request, "limits": tt.limit} {
				if amount != "" {
					want = append(want, fmt.Sprintf("add /spec/containers/0/resources/%s/memory %q", kind, amount))
				}
			}
			got := slices.DeleteFunc(operations(t, response), func(o string) bool { return !strings.Contains(o, "/memory ") })
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(response.Warnings) > 0 {
				t.Errorf("%q, want %q; warnings %q", got, want, response.Warnings)
			}
		})
	}
}
