package sources_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestPagesOfAnObject: many metrics may be on one page, but each page costs a request to each pod every second.
func TestPagesOfAnObject(t *testing.T) {
	onPages := func(pages int) *plimsollv1alpha1.WorkloadAutoscaler {
		object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		for i := range 40 {
			m := podEndpoint()
			m.Path, m.Metric.Name = fmt.Sprintf("/metrics?n=%d", i%pages), fmt.Sprintf("requests_%d", i)
			object.Spec.Metrics = append(object.Spec.Metrics, metricOf(m))
		}
		plimsollv1alpha1.SetDefaults(&object.Spec)
		return object
	}
	for pages, isRefused := range map[int]bool{1: false, sources.MaxPages: false, sources.MaxPages + 1: true} {
		_, _, refusal := observehorizontal.PolicyOf(observehorizontal.WorkloadAutoscaler(onPages(pages)), observehorizontal.DefaultOptions())
		want := fmt.Sprintf("spec.metrics[10].podEndpoint: Invalid value: the metrics of type PodEndpoint are on %d pages",
			pages)
		if got := strings.Contains(refusal.Message, want); got != isRefused ||
			(refusal.Reason == "InvalidSpec") != isRefused {
			t.Errorf("%d pages: %+v", pages, refusal)
		}
	}
}
