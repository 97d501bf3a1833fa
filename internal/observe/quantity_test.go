package observe

import (
	"context"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

// The API server keeps such quantities in pods and HorizontalPodAutoscalers. To compare
// or to add them is to compute a number of a billion digits.
func TestQuantitiesThatCannotBeComputedWithSaturate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	huge := resource.MustParse("1e999999999")
	negative := resource.MustParse("-1e999999998")
	list := corev1.ResourceList{corev1.ResourceCPU: huge}
	for why, spec := range map[string]corev1.PodSpec{
		"a container": {Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: list}}}},
		"the pod":     {Resources: &corev1.ResourceRequirements{Requests: list}, Containers: []corev1.Container{{Name: "app"}}},
		"everything": {
			Resources: &corev1.ResourceRequirements{Requests: list}, Overhead: list,
			Containers:     []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: list}}, {Name: "b"}},
			InitContainers: []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: list}}},
		},
	} {
		done := make(chan int64, 1)
		go func() {
			r := requestsOf(&corev1.Pod{Spec: spec}).Value()
			requested := r.containers.Value().requests
			if r.isPodLevel {
				requested = r.pod
			}
			milli, _ := find(requested, "cpu", arithmetic.Saturate)
			done <- milli
		}()
		select {
		case milli := <-done:
			if milli != math.MaxInt64 {
				t.Errorf("%s: %d", why, milli)
			}
		case <-ctx.Done():
			t.Fatalf("%s: not read within 20 s", why)
		}
	}
	if got := milli(&negative, arithmetic.Saturate); got != math.MinInt64 {
		t.Error(got)
	}
	if q := list[corev1.ResourceCPU]; q.String() != huge.String() {
		t.Error("the pod of the cache was changed:", q.String())
	}
}
