package vertical

import (
	"context"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// A value that overflows becomes the largest one: a maximum of 0 or below would be another limit, or none.
func TestAmountsThatDoNotFit(t *testing.T) {
	for text, want := range map[string][vertical.Resources]int64{
		"100m":                          {vertical.CPU: 100, vertical.Memory: 1},
		"9P":                            {vertical.CPU: 9e18, vertical.Memory: 9e15},
		"1E":                            {vertical.CPU: math.MaxInt64, vertical.Memory: 1e18},
		"10P":                           {vertical.CPU: math.MaxInt64, vertical.Memory: 1e16},
		"10E":                           {vertical.CPU: math.MaxInt64, vertical.Memory: math.MaxInt64},
		"9223372036854775807":           {vertical.CPU: math.MaxInt64, vertical.Memory: math.MaxInt64},
		"12345678901234567890123456789": {vertical.CPU: math.MaxInt64, vertical.Memory: math.MaxInt64},
		"1e999999999":                   {vertical.CPU: math.MaxInt64, vertical.Memory: math.MaxInt64},
		"-1e99":                         {vertical.CPU: math.MinInt64, vertical.Memory: math.MinInt64},
		"0e999999999":                   {},
	} {
		q := resource.MustParse(text)
		amounts := AmountsOf(corev1.ResourceList{corev1.ResourceCPU: q, corev1.ResourceMemory: q})
		for r := range vertical.Resource(vertical.Resources) {
			if got, has := amounts.Get(r); !has || int64(got) != want[r] {
				t.Errorf("%s of %s: %d, want %d", text, r, got, want[r])
			}
		}
	}
}

// An increase after a container ran out of memory that overflows is the largest one; others are converted exactly, in
// thousandths.
func TestIncreasesThatDoNotFit(t *testing.T) {
	for text, want := range map[string]float64{
		"1.2": 1.2, "1500m": 1.5, "1234567u": 1.235, "100Mi": 100 << 20, "9P": 9e15, "1E": math.MaxInt64 / 1000.0,
		"10E":  math.MaxInt64 / 1000.0,
		"1e99": math.MaxInt64 / 1000.0, "-1e99": math.MinInt64 / 1000.0,
	} {
		q := resource.MustParse(text)
		got := policyOf(&vpav1.ContainerResourcePolicy{OOMBumpUpRatio: &q, OOMMinBumpUp: &q}).OOM
		if got.BumpUpRatio != want || got.MinBumpUpBytes != want || !got.HasMinBumpUp {
			t.Errorf("%s: %+v, want %g", text, got, want)
		}
	}
}

// A quota as large as the API server accepts limits nothing.
func TestQuotaWithoutEnd(t *testing.T) {
	quota := &corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{
		Hard: corev1.ResourceList{
			corev1.ResourceRequestsCPU:  resource.MustParse("1e999999999"),
			corev1.ResourceLimitsMemory: resource.MustParse("2Gi"),
		},
		Used: corev1.ResourceList{
			corev1.ResourceRequestsCPU: resource.MustParse("1500m"), corev1.ResourceLimitsMemory: resource.MustParse("1Gi"),
		},
	}}
	within, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		quotas := QuotasOf([]*corev1.ResourceQuota{quota})
		if len(quotas) != 1 {
			t.Error(quotas)
			return
		}
		cpu, _ := quotas[0].Requests.Get(vertical.CPU)
		memory, _ := quotas[0].Limits.Get(vertical.Memory)
		if cpu < math.MaxInt64/2 || memory != 1<<30 {
			t.Error(cpu, memory)
		}
	}()
	select {
	case <-done:
	case <-within.Done():
		t.Fatal("not read within 20 s")
	}
}
