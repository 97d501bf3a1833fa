package recommender

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
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
func (w *world) evicts(message string, change ...func(*corev1.Pod)) {
	var pod *corev1.Pod
	w.do(func() { pod = w.running["web-0"].DeepCopy() })
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", message
	for _, f := range change {
		f(pod)
	}
	w.pods.Modify(pod)
	w.do(func() { delete(w.running, "web-0") })
}

const lowOnMemory = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Ki. " +
	"Container app was using 2Gi, request is 300Mi, has larger consumption of memory. "

// The event counts once the pod's status confirms it, whichever comes first; for a pod that a controller deletes at
// once it is the last status.
func TestEvictedForMemory(t *testing.T) {
	for why, tell := range map[string]func(w *world){
		"the event first":  func(w *world) { w.events.Add(evictedEvent("2Gi")); w.pass(time.Minute); w.evicts(lowOnMemory) },
		"the status first": func(w *world) { w.evicts(lowOnMemory); w.pass(time.Minute); w.events.Add(evictedEvent("2Gi")) },
		"deleted at once": func(w *world) {
			w.events.Add(evictedEvent("2Gi"))
			w.evicts(lowOnMemory)
			w.pods.Delete(w.podNamed("web-0"))
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.deployment("web", 2)
			w.autoscaler("web")
			w.start()
			w.pass(2 * time.Minute)
			tell(w)
			w.pass(3 * time.Second)
			if _, memory := w.target("web"); memory < 2<<30*120/100 {
				t.Errorf("%s: memory is %d, want more than 2 GiB and a fifth", why, memory)
			}
		})
	}
}

func (w *world) podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// A user forges as many events as are kept, in two namespaces. An eviction in another one still counts, and no more
// events are kept than before.
func TestForgedEvictionsDisplaceNoOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		r := w.start()
		w.pass(2 * time.Minute)
		for i := range oom.MaxPending + 100 {
			forged := evictedEvent("1Ti")
			forged.Namespace, forged.InvolvedObject.UID = "forger-"+string(rune('a'+i%2)), types.UID(strconv.Itoa(i))
			forged.InvolvedObject.Namespace = forged.Namespace
			r.passes.ooms.Evictions().OnAdd(forged, false)
		}
		w.events.Add(evictedEvent("2Gi"))
		w.pass(time.Minute)
		if n := r.passes.ooms.Waiting(); n != oom.MaxPending {
			t.Errorf("%d claims are kept", n)
		}
		w.evicts(lowOnMemory)
		w.pass(3 * time.Second)
		if _, memory := w.target("web"); memory < 2<<30*120/100 {
			t.Errorf("memory is %d, want more than 2 GiB and a fifth", memory)
		}
	})
}

// Users who may create events may forge them.
func TestForgedEviction(t *testing.T) {
	limited := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: apiresource.MustParse("600Mi")}
	}
	other := func(p *corev1.Pod) { p.UID = "another" }
	for why, tell := range map[string]func(w *world){
		"of a pod that runs": func(w *world) { w.events.Add(evictedEvent("1Ti")) },
		"of another amount":  func(w *world) { w.events.Add(evictedEvent("1Ti")); w.evicts(lowOnMemory) },
		"of a pod evicted for another want": func(w *world) {
			w.events.Add(evictedEvent("1Ti"))
			w.evicts("The node had condition: [DiskPressure]. ")
		},
		"of a namesake":             func(w *world) { w.events.Add(evictedEvent("2Gi")); w.evicts(lowOnMemory, other) },
		"more than twice the limit": func(w *world) { w.events.Add(evictedEvent("2Gi")); w.evicts(lowOnMemory, limited) },
		"two minutes before the status": func(w *world) {
			w.events.Add(evictedEvent("2Gi"))
			w.pass(3 * time.Minute)
			w.events.Add(evictedEvent("x"))
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.deployment("web", 2)
			w.autoscaler("web")
			r := w.start()
			w.pass(2 * time.Minute)
			tell(w)
			w.pass(3 * time.Minute)
			if _, memory := w.target("web"); memory > 1200<<20*120/100*13/10 {
				t.Errorf("%s: memory is %d", why, memory)
			}
			w.pass(time.Minute)
			if n := r.passes.ooms.Waiting(); n != 0 {
				t.Errorf("%s: %d claims and pods are kept", why, n)
			}
		})
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 2)
		w.autoscaler("web")
		w.start(func(c *Config) { c.Policy.Usage.Divergences &^= divergence.EvictedStatus })
		w.pass(2 * time.Minute)
		w.events.Add(evictedEvent("1Ti"))
		w.pass(3 * time.Second)
		if _, memory := w.target("web"); memory < 1<<40 {
			t.Errorf("upstream believes it, but memory is %d", memory)
		}
	})
}
