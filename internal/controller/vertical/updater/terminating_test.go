package updater

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
)

// When a pod that is being deleted should have gone is known to the decision: it includes the pod's grace period.
func TestDeadlinesOfDeletedPodsAreObserved(t *testing.T) {
	r := newRig(t, nil, "web")
	until := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	for _, object := range r.pods.List() {
		if pod, ok := slim.Pod(object); ok && pod.Name == "web-1-a" {
			deleted := pod.DeepCopy()
			deleted.DeletionTimestamp = &until
			if err := r.pods.Update(deleted); err != nil {
				t.Fatal(err)
			}
		}
	}
	workloads := r.workloads(t.Context())
	if len(workloads) != 1 {
		t.Fatalf("%d workloads", len(workloads))
	}
	o := r.observation(workloads[0], &cluster{})
	if !slices.Equal(o.Workload.Terminating, []time.Time{until.Time}) || len(o.Pods) != 1 {
		t.Errorf("being deleted %v, %d pods", o.Workload.Terminating, len(o.Pods))
	}
}
