package updater

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
)

// The observation has the time by which a pod that is being deleted should be gone, including its grace period.
func TestDeadlinesOfDeletedPodsAreObserved(t *testing.T) {
	r := newRig(t, nil, "web")
	until := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	for pod := range r.cfg.Pods.List().All() {
		if pod.Name == "web-1-a" {
			deleted := pod.DeepCopy()
			deleted.DeletionTimestamp = &until
			if err := r.cfg.Informers.Core().V1().Pods().Informer().GetStore().Update(deleted); err != nil {
				t.Fatal(err)
			}
		}
	}
	found := r.workloads.Find(t.Context())
	if len(found) != 1 {
		t.Fatalf("%d workloads", len(found))
	}
	o := r.workloads.Observation(found[0], &workloads.Shared{})
	if !slices.Equal(o.Workload.Terminating, []time.Time{until.Time}) || len(o.Pods) != 1 {
		t.Errorf("being deleted %v, %d pods", o.Workload.Terminating, len(o.Pods))
	}
}
