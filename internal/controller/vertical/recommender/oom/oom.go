// Package oom finds containers that ran out of memory: from the statuses of pods, and from the events of kubelets that
// evicted pods because their node ran out of memory.
package oom

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	killed = "OOMKilled"
	// MaxPending bounds the kills that wait for the next pass, as upstream.
	MaxPending = 5000
)

// Kill is an out-of-memory kill of a container. It has the pod's labels, because the pod may be gone when it is
// processed.
type Kill struct {
	Namespace string
	Labels    map[string]string
	OOM       recommend.OOM
	// pod is set if the labels are unknown; it is looked up by name.
	pod string
}

// Watcher collects kills until they are taken.
type Watcher struct {
	// pods finds a pod by its namespace and name; nil if there is none.
	pods func(namespace, name string) *corev1.Pod
	// checksStatus requires that the pod's status confirms an event.
	checksStatus bool
	wake         func()

	// mu guards the following.
	mu    sync.Mutex
	kills []Kill
	// claims has the evictions that no pod's status has confirmed yet, evicted the pods whose statuses could confirm one,
	// by UID.
	claims  []claim
	evicted map[string]evictedPod
}

// NewWatcher returns a Watcher. pods returns the pod of a name, nil if there is none; the Watcher calls wake when there
// is a kill to take.
func NewWatcher(
	pods func(namespace, name string) *corev1.Pod, divergences divergence.Set, wake func(),
) *Watcher {
	return &Watcher{
		pods: pods, checksStatus: divergences.Has(divergence.EvictedStatus), wake: wake, evicted: map[string]evictedPod{},
	}
}

// Pods returns the handler of pods.
func (w *Watcher) Pods() podcache.Handler[*corev1.Pod] {
	e := podStatuses{w}
	return podcache.Handler[*corev1.Pod]{Add: e.added, Update: e.updated, Delete: e.deleted}
}

// Evictions returns the handler of events with the reason Evicted.
func (w *Watcher) Evictions() cache.ResourceEventHandler { return evictions{w} }

// Take returns the kills since the last call.
func (w *Watcher) Take() []Kill {
	w.mu.Lock()
	taken := w.kills
	w.kills = nil
	w.mu.Unlock()
	for i := range taken {
		if k := &taken[i]; k.pod != "" {
			k.Labels = w.labelsOf(types.NamespacedName{Namespace: k.Namespace, Name: k.pod})
		}
	}
	return taken
}

func (w *Watcher) labelsOf(pod types.NamespacedName) map[string]string {
	if p := w.pods(pod.Namespace, pod.Name); p != nil {
		return p.Labels
	}
	return nil
}

// add stores a kill for the next pass, and calls wake for an early one.
func (w *Watcher) add(k Kill) {
	w.mu.Lock()
	if len(w.kills) < MaxPending {
		w.kills = append(w.kills, k)
	}
	w.mu.Unlock()
	w.wake()
}

// podStatuses finds containers that ran out of memory in the statuses of pods.
type podStatuses struct{ *Watcher }

// added skips pods from before the start: work.observePods handles them.
func (e podStatuses) added(pod *corev1.Pod, isInInitialList bool) {
	if !isInInitialList {
		e.compare(nil, pod)
	}
}

func (e podStatuses) updated(before, pod *corev1.Pod) {
	if before.UID != pod.UID {
		before = nil
	}
	e.compare(before, pod)
}

// deleted confirms evictions too: some controllers delete evicted pods at once.
func (e podStatuses) deleted(pod *corev1.Pod) { e.confirm(pod) }

// compare reports the kills in the pod's status that the status before did not have.
func (e podStatuses) compare(before, pod *corev1.Pod) {
	e.confirm(pod)
	for _, oom := range oomsOf(before, pod) {
		oom.Standing = before == nil
		e.add(Kill{Namespace: pod.Namespace, Labels: pod.Labels, OOM: oom})
	}
}

// Standing returns the kills in the status of a pod that is observed for the first time. It omits kills from before the
// pod's last resize: the resources at that time are unknown, and comparing the kill with the current ones would raise
// the recommendation after each restart.
func Standing(pod *corev1.Pod) []recommend.OOM {
	found := slices.DeleteFunc(oomsOf(nil, pod), func(o recommend.OOM) bool { return wasResizedAfter(pod, o.At) })
	for i := range found {
		found[i].Standing = true
	}
	return found
}

// wasResizedAfter reports whether a pod was, or may have been, resized in place since then.
func wasResizedAfter(pod *corev1.Pod, since time.Time) bool {
	if _, was := pod.Annotations[observevertical.AnnotationInPlaceUpdated]; !was {
		return false
	}
	at, err := time.Parse(time.RFC3339, pod.Annotations[observevertical.AnnotationResizedAt])
	return err != nil || at.After(since) // upstream's updater does not record the time
}

// oomsOf returns the out-of-memory kills in a pod's status that the status before did not have, in order of time.
func oomsOf(before, pod *corev1.Pod) []recommend.OOM {
	var found []recommend.OOM
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		old := statusOf(before, status.Name)
		for _, end := range []*corev1.ContainerStateTerminated{status.LastTerminationState.Terminated,
			status.State.Terminated} {
			if end == nil || end.Reason != killed ||
				old != nil && (isSame(end, old.State.Terminated) || isSame(end, old.LastTerminationState.Terminated)) {
				continue
			}
			of := pod
			if end == status.LastTerminationState.Terminated && old != nil {
				// The container has restarted since, maybe with other resources.
				of = before
			}
			found = append(found, oomOf(of, status.Name, end.FinishedAt.Time))
		}
	}
	return found
}

func isSame(a, b *corev1.ContainerStateTerminated) bool {
	return b != nil && a.FinishedAt.Equal(&b.FinishedAt)
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	if pod == nil {
		return nil
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

// oomOf records the resources that the container had, from its status: its spec may already differ during a resize.
func oomOf(pod *corev1.Pod, container string, at time.Time) recommend.OOM {
	oom := recommend.OOM{Container: container, OOM: usage.OOM{Pod: string(pod.UID), At: at}}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		had := &c.Resources
		if status := statusOf(pod, container); status != nil && status.Resources != nil {
			had = status.Resources
		}
		oom.Request, _ = observevertical.AmountsOf(had.Requests).Get(vertical.Memory)
		oom.Limit, _ = observevertical.AmountsOf(had.Limits).Get(vertical.Memory)
	}
	return oom
}
