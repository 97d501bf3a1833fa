package recommender

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	oomKilled = "OOMKilled"
	// maxPending bounds what waits for the next pass, as upstream.
	maxPending = 5000
)

// outOfMemory is that a container ran out of memory. The pod may be gone when it is
// looked at, therefore its labels are here.
type outOfMemory struct {
	namespace string
	labels    map[string]string
	// pod is set where labels are not known; it is looked for by name.
	pod string
	oom recommend.OOM
}

// endings finds containers that ran out of memory in the statuses of pods.
type endings struct{ *Recommender }

var _ cache.ResourceEventHandler = endings{}

// OnAdd implements cache.ResourceEventHandler. Pods that were there before are
// looked at when their object is.
func (e endings) OnAdd(object any, isInInitialList bool) {
	if pod, ok := slim.Pod(object); ok && !isInInitialList {
		e.look(nil, pod)
	}
}

// OnUpdate implements cache.ResourceEventHandler.
func (e endings) OnUpdate(before, after any) {
	old, ok := slim.Pod(before)
	pod, alsoOK := slim.Pod(after)
	if !ok || !alsoOK {
		return
	}
	if old.UID != pod.UID {
		old = nil
	}
	e.look(old, pod)
}

// OnDelete implements cache.ResourceEventHandler. Some controllers delete evicted pods
// at once.
func (e endings) OnDelete(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := slim.Pod(object); ok {
		e.confirm(pod)
	}
}

// look reports what the pod's status says and the one before did not.
func (e endings) look(before, pod *corev1.Pod) {
	e.confirm(pod)
	for _, oom := range oomsOf(before, pod) {
		oom.Standing = before == nil
		e.outOfMemory(outOfMemory{namespace: pod.Namespace, labels: pod.Labels, oom: oom})
	}
}

// standing is what the status of a pod says that was not known before. What a container
// had is not known any more where its pod was resized since: it would be held against
// what it has now, and after each restart against more.
func standing(pod *corev1.Pod) []recommend.OOM {
	found := slices.DeleteFunc(oomsOf(nil, pod), func(o recommend.OOM) bool { return wasResizedAfter(pod, o.At) })
	for i := range found {
		found[i].Standing = true
	}
	return found
}

// wasResizedAfter reports whether a pod was, or may have been, resized in place since.
func wasResizedAfter(pod *corev1.Pod, since time.Time) bool {
	if _, was := pod.Annotations[observevertical.AnnotationInPlaceUpdated]; !was {
		return false
	}
	at, err := time.Parse(time.RFC3339, pod.Annotations[observevertical.AnnotationResizedAt])
	return err != nil || at.After(since) // upstream's updater does not say when
}

// oomsOf are the endings for want of memory in a pod's status that were not in the
// one before, in order of time.
func oomsOf(before, pod *corev1.Pod) []recommend.OOM {
	var found []recommend.OOM
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		old := statusOf(before, status.Name)
		for _, end := range []*corev1.ContainerStateTerminated{status.LastTerminationState.Terminated, status.State.Terminated} {
			if end == nil || end.Reason != oomKilled || old != nil && (isSame(end, old.State.Terminated) || isSame(end, old.LastTerminationState.Terminated)) {
				continue
			}
			of := pod
			if end == status.LastTerminationState.Terminated && old != nil {
				// Since then it has begun anew, maybe with other resources.
				of = before
			}
			found = append(found, oomOf(of, status.Name, end.FinishedAt.Time))
		}
	}
	return found
}

// isSame reports whether both are the same ending of a container.
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

// oomOf holds against the container what it had, which its spec may have outgrown
// while a resize is under way.
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

// outOfMemory keeps it for the next pass, and lets that come soon.
func (r *Recommender) outOfMemory(o outOfMemory) {
	r.mu.Lock()
	if len(r.ooms) < maxPending {
		r.ooms = append(r.ooms, o)
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// takeOOMs sorts what is pending to the objects whose pods it is about.
func (r *Recommender) takeOOMs() map[types.NamespacedName][]recommend.OOM {
	r.mu.Lock()
	pending := r.ooms
	r.ooms = nil
	r.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	byNamespace := map[string][]*track{}
	for name, t := range r.tracks {
		byNamespace[name.Namespace] = append(byNamespace[name.Namespace], t)
	}
	sorted := map[types.NamespacedName][]recommend.OOM{}
	for i := range pending {
		o := &pending[i]
		if o.pod != "" {
			o.labels = r.labelsOf(types.NamespacedName{Namespace: o.namespace, Name: o.pod})
		}
		for _, t := range byNamespace[o.namespace] {
			if t.selector != nil && o.labels != nil && t.selector.Matches(labels.Set(o.labels)) {
				sorted[t.name] = append(sorted[t.name], o.oom)
			}
		}
	}
	return sorted
}

func (r *Recommender) labelsOf(pod types.NamespacedName) map[string]string {
	object, exists, err := r.config.Pods.GetStore().GetByKey(pod.String())
	if p, ok := slim.Pod(object); ok && exists && err == nil {
		return p.Labels
	}
	return nil
}
