package oom

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

const (
	// confirmWithin is the time for which an event waits for the pod's status to confirm it, and the status for the event:
	// they arrive by two watches.
	confirmWithin = 2 * time.Minute
	// maxContainers bounds the containers that an event may name: no running pod has more. The annotations of a forged
	// event have room for 20,000.
	maxContainers = 250
)

// evictions handles the events of pods that kubelets evicted because their node ran out of memory.
type evictions struct{ *Watcher }

var _ cache.ResourceEventHandler = evictions{}

// claim is an event's report about one container. Many users may create events: with the divergence evicted-status it
// counts only once the pod's status, which the kubelet writes, confirms it.
type claim struct {
	recommend.OOM
	namespace string
	// used is the amount in the event's notation.
	used string
	// until is when it expires.
	until time.Time
}

// evictedPod is a pod whose status reports an eviction.
type evictedPod struct {
	pod   *corev1.Pod
	until time.Time
}

// OnAdd implements cache.ResourceEventHandler. It skips events from before the start, which the previous leader has
// handled.
func (e evictions) OnAdd(object any, isInInitialList bool) {
	event, ok := object.(*corev1.Event)
	if !ok || isInInitialList {
		return
	}
	claims := evicted(event)
	if len(claims) == 0 {
		return
	}
	if !e.checksStatus {
		for _, c := range claims {
			e.add(Kill{Namespace: event.InvolvedObject.Namespace, pod: event.InvolvedObject.Name, OOM: c.OOM})
		}
		return
	}
	e.addClaims(claims)
}

// OnUpdate implements cache.ResourceEventHandler.
func (evictions) OnUpdate(_, _ any) {}

// OnDelete implements cache.ResourceEventHandler.
func (evictions) OnDelete(any) {}

// addClaims stores claims until a pod's status confirms them.
func (w *Watcher) addClaims(claims []claim) {
	w.mu.Lock()
	until := w.forgetClaimsLocked(time.Now())
	for _, c := range claims {
		c.until = until
		if !w.addClaimLocked(c) {
			// The other claims of the event have the same namespace, so they are refused too. Checking each would hold the lock
			// for seconds.
			break
		}
	}
	w.mu.Unlock()
	w.matchClaims()
}

// addClaimLocked adds a claim. If there are too many, it drops the latest one of the namespace that has the most, so
// that a namespace that forges events displaces no other's. It returns false if the claim itself is from that
// namespace.
func (w *Watcher) addClaimLocked(c claim) bool {
	if len(w.claims) >= MaxPending {
		counts := map[string]int{c.namespace: 1}
		most := c.namespace
		for i := range w.claims {
			namespace := w.claims[i].namespace
			if counts[namespace]++; counts[namespace] > counts[most] {
				most = namespace
			}
		}
		if most == c.namespace {
			return false
		}
		latest := len(w.claims) - 1
		for w.claims[latest].namespace != most {
			latest--
		}
		w.claims = slices.Delete(w.claims, latest, latest+1)
	}
	w.claims = append(w.claims, c)
	return true
}

// confirm records the status of a pod if it was evicted.
func (w *Watcher) confirm(pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != slim.Evicted {
		return
	}
	w.mu.Lock()
	until := w.forgetClaimsLocked(time.Now())
	if len(w.evicted) < MaxPending {
		w.evicted[string(pod.UID)] = evictedPod{pod, until}
	}
	w.mu.Unlock()
	w.matchClaims()
}

// Waiting returns the number of events and of statuses of evicted pods that wait for each other.
func (w *Watcher) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetClaimsLocked(time.Now())
	return len(w.claims) + len(w.evicted)
}

// forgetClaimsLocked drops what has expired, and returns when new entries expire.
func (w *Watcher) forgetClaimsLocked(now time.Time) (until time.Time) {
	w.claims = slices.DeleteFunc(w.claims, func(c claim) bool { return now.After(c.until) })
	maps.DeleteFunc(w.evicted, func(_ string, e evictedPod) bool { return now.After(e.until) })
	return now.Add(confirmWithin)
}

// matchClaims records the claims that a pod's status confirms, and drops those that it contradicts.
func (w *Watcher) matchClaims() {
	var confirmed []Kill
	w.mu.Lock()
	w.claims = slices.DeleteFunc(w.claims, func(c claim) bool {
		e, isEvicted := w.evicted[c.Pod]
		if isEvicted && c.isConfirmed(e.pod) {
			c.Request = atMost(e.pod, &c.OOM)
			confirmed = append(confirmed, Kill{Namespace: e.pod.Namespace, Labels: e.pod.Labels, OOM: c.OOM})
		}
		return isEvicted
	})
	w.mu.Unlock()
	for _, k := range confirmed {
		w.add(k)
	}
}

// isConfirmed reports whether the kubelet's message contains the container and the amount
// (pkg/kubelet/eviction/helpers.go, evictionMessage).
func (c *claim) isConfirmed(pod *corev1.Pod) bool {
	return strings.Contains(pod.Status.Message, "Container "+c.Container+" was using "+c.used+",")
}

// atMost returns the reported use of the container, but no more than twice its limit.
func atMost(pod *corev1.Pod, oom *recommend.OOM) vertical.Amount {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == oom.Container {
			if limit, ok := observevertical.AmountsOf(c.Resources.Limits).Get(vertical.Memory); ok {
				return min(oom.Request, 2*limit)
			}
		}
	}
	return oom.Request
}

// evicted returns a claim for each container that used more memory than it requested, according to a kubelet's event.
func evicted(event *corev1.Event) []claim {
	if event.Reason != "Evicted" || event.InvolvedObject.Kind != "Pod" {
		return nil
	}
	list := func(key string) []string {
		if text, ok := event.Annotations[key]; ok {
			return strings.Split(text, ",")
		}
		return nil
	}
	containers, used, starved := list("offending_containers"), list("offending_containers_usage"), list("starved_resource")
	if len(used) != len(containers) || len(starved) != len(containers) || len(containers) > maxContainers {
		return nil
	}
	var found []claim
	for i, container := range containers {
		bytes, err := quantity.Parse(used[i])
		if err != nil || starved[i] != string(corev1.ResourceMemory) {
			continue
		}
		found = append(found, claim{namespace: event.InvolvedObject.Namespace,
			used: used[i], OOM: recommend.OOM{Container: container, OOM: usage.OOM{
				Pod: string(event.InvolvedObject.UID), At: event.CreationTimestamp.Time, Request: vertical.Amount(bytes.Value()),
			}}})
	}
	return found
}
