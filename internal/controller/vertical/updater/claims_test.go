package updater

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Each pod grows by 400m and fits alone. If three workloads share a namespace whose quota has a core left, a pass
// evicts two pods, of any of them; another namespace is not affected, and a refused eviction uses no quota.
func TestQuotaHoldsForAllWorkloadsOfANamespace(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Defaults.Divergences = allAtOnce
		// With a rate limit one worker acts. With more, a pod waits for the next pass if an eviction that the API server is
		// about to refuse has claimed its quota.
		c.EvictionRate, c.EvictionBurst = 1000, 100
	}, "web", "api", "jobs", "bank")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"}}
	quota.Status.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1600m")}
	quota.Status.Used = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("600m")}
	if err := r.cfg.Informers.Core().V1().ResourceQuotas().Informer().GetStore().Add(quota); err != nil {
		t.Fatal(err)
	}
	tried := 0
	r.refuse = func(pod string) error {
		if tried++; tried <= 3 && pod != "bank-1-a" && pod != "bank-1-b" {
			return errors.New("not now")
		}
		return nil
	}
	r.passOnce()
	byNamespace := map[string]int{}
	for _, pod := range r.evicted {
		byNamespace[namespaceOf(pod)]++
	}
	if byNamespace[namespace] != 2 || byNamespace["bank"] != 2 {
		t.Errorf("evicted %v", r.evicted)
	}
	r.cfg.Defaults.Divergences &^= divergence.ResizeChecks
	if r.passOnce(); len(r.evicted) != 4+8 {
		t.Errorf("without the divergence: evicted %v", r.evicted)
	}
}
