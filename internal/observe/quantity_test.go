package observe

import (
	"context"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/google/go-cmp/cmp"

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
		"a container": {Containers: []corev1.Container{{Name: "app",
			Resources: corev1.ResourceRequirements{Requests: list}}}},
		"the pod": {Resources: &corev1.ResourceRequirements{Requests: list}, Containers: []corev1.Container{{Name: "app"}}},
		"everything": {
			Resources: &corev1.ResourceRequirements{Requests: list}, Overhead: list,
			Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: list}},
				{Name: "b"}},
			InitContainers: []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: list}}},
		},
	} {
		done := make(chan int64, 1)
		go func() {
			r := requestsOf(&corev1.Pod{Spec: spec}).Value()
			requested := r.containers.Value().requests.asked
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
	if got := Milli(&negative, arithmetic.Saturate); got != math.MinInt64 {
		t.Error(got)
	}
	if q := list[corev1.ResourceCPU]; q.String() != huge.String() {
		t.Error("the pod of the cache was changed:", q.String())
	}
}

func TestMilli(t *testing.T) {
	cases := map[string]struct {
		quantity string
		want     int64
	}{
		"small":                     {"1500m", 1500},
		"rounded up":                {"1u", 1},
		"negative":                  {"-3", -3000},
		"largest that fits":         {"9223372036854775807m", math.MaxInt64},
		"one less":                  {"9223372036854775806m", math.MaxInt64 - 1},
		"near the end":              {"9100000000000000", 9100000000000000000},
		"one exa reads as zero":     {"1E", math.MaxInt64},
		"the same in units":         {"1000000000000000000", math.MaxInt64},
		"largest integer":           {"9223372036854775807", math.MaxInt64},
		"a little too large":        {"9223372036854776", math.MaxInt64},
		"negative and too large":    {"-9223372036854776", math.MinInt64},
		"huge decimal":              {"123456789012345678901234567890.5", math.MaxInt64},
		"binary suffix, too large":  {"8Ei", math.MaxInt64},
		"binary suffix, negative":   {"-8Ei", math.MinInt64},
		"binary suffix, large, fit": {"8Pi", 9007199254740992000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q := resource.MustParse(tc.quantity)
			before := q.DeepCopy()
			if got := Milli(&q, arithmetic.Saturate); got != tc.want {
				t.Errorf("saturating: %s is %d, want %d", tc.quantity, got, tc.want)
			}
			if got := Milli(&q, arithmetic.Wrap); got != q.MilliValue() {
				t.Errorf("as upstream: %s is %d, MilliValue says %d", tc.quantity, got, q.MilliValue())
			}
			if diff := cmp.Diff(before.String(), q.String()); diff != "" {
				t.Errorf("the quantity was changed: %s", diff)
			}
		})
	}
}
