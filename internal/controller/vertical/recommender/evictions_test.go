package recommender

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// evictedEvent reports an eviction of pod web-0 whose container used this amount.
func evictedEvent(used string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "e", CreationTimestamp: metav1.Now(),
			Annotations: map[string]string{
				"offending_containers": "app", "offending_containers_usage": used, "starved_resource": "memory",
			}},
		Reason: "Evicted", InvolvedObject: corev1.ObjectReference{Kind: "Pod",
			Namespace: namespace, Name: "web-0", UID: "uid-web-0"},
	}
}

// evicts sets the status that the kubelet writes for the evicted pod web-0.
func (w *world) evicts(message string) {
	var pod *corev1.Pod
	w.do(func() { pod = w.running["web-0"].DeepCopy() })
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", message
	w.pods.Modify(pod)
	w.do(func() { delete(w.running, "web-0") })
}

const lowOnMemory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Ki. " +
	"Container app was using 2Gi, request is 300Mi, has larger consumption of memory. "

// TestEvictedForMemory: an eviction that the pod's status confirms raises the recommendation within seconds. Package
// oom tests which ones do.
func TestEvictedForMemory(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start()
		w.pass(2 * time.Minute)
		w.events.Add(evictedEvent("2Gi"))
		w.pass(time.Minute)
		w.evicts(lowOnMemory)
		w.pass(3 * time.Second)
		if _, memory := w.target("web"); memory < 2<<30*120/100 {
			t.Errorf("memory is %d, want more than 2 GiB and a fifth", memory)
		}
	})
}

// TestForgedEviction: users who may create events may forge them. Upstream believes them.
func TestForgedEviction(t *testing.T) {
	for _, checks := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			w.deployment("web", 2)
			w.autoscaler("web")
			w.start(func(c *Config) {
				if !checks {
					c.Policy.Usage.Divergences &^= divergence.EvictedStatus
				}
			})
			w.pass(2 * time.Minute)
			w.events.Add(evictedEvent("1Ti"))
			w.pass(3 * time.Second)
			if _, memory := w.target("web"); memory < 1<<40 != checks {
				t.Errorf("the status is checked: %t: memory is %d", checks, memory)
			}
		})
	}
}
