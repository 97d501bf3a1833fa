package updater

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Each pod grows by 400m and fits alone. Of three workloads in a namespace whose quota has a core left two pods are
// evicted in a pass, whoever they belong to; another namespace has nothing to do with it, and what was refused takes
// nothing.
func TestQuotaHoldsForAllWorkloadsOfANamespace(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Defaults.Divergences = allAtOnce
		// Under a rate limit one worker acts. With more, a pod waits for the next pass if what it needs is taken by
		// an eviction that the API server is about to refuse.
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
