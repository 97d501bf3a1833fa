package recommender

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// work is one object in one pass.
type work struct {
	object   *vpav1.VerticalPodAutoscaler
	track    *track
	lookup   recommend.Lookup
	policy   recommend.Policy
	decision recommend.Decision
	// pods is the number of the workload's pods.
	pods int
	// containers are those of these pods.
	containers status.Containers
	// isWhole is set in passes over all objects.
	isWhole bool
	// isRunning is set if a pod runs.
	isRunning bool
	// hadOOM is set if a container ran out of memory.
	hadOOM bool
}

// observePods adds the workload's pods to the observation, and returns the names of their containers. In the first
// observation it adds earlier out-of-memory kills too.
func (w *work) observePods(pods []*observe.Pod, o *recommend.Observation) []string {
	var names []string
	counts := map[string]int{}
	for _, known := range pods {
		pod := known.Whole.Pod()
		if !w.track.hasObserved {
			o.OOMs = append(o.OOMs, oom.Standing(pod)...)
		}
		if pod.Status.Phase == corev1.PodPending {
			continue
		}
		o.Pods = append(o.Pods, string(pod.UID))
		w.isRunning = w.isRunning || pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
		if w.isOver(pod) {
			continue
		}
		for i := range pod.Spec.Containers {
			name := pod.Spec.Containers[i].Name
			if counts[name] == 0 {
				names = append(names, name)
			}
			counts[name]++
		}
		for i := range pod.Spec.InitContainers {
			if name := pod.Spec.InitContainers[i].Name; !slices.Contains(w.containers.Init, name) {
				w.containers.Init = append(w.containers.Init, name)
			}
		}
	}
	w.containers.Sized = names
	w.track.hasObserved = true
	slices.Sort(names)
	for _, name := range names {
		o.Containers = append(o.Containers, recommend.Present{Container: name, Pods: counts[name]})
	}
	w.pods = len(o.Pods)
	return names
}

// isOver reports whether a pod has ended, so that its containers do not count as present. Upstream counts these too,
// except while the target cannot be looked up.
func (w *work) isOver(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return ended && (w.policy.Has(divergence.LiveContainers) || w.lookup.Problem != "")
}

// exists returns a function that reports whether a pod exists. While the target cannot be looked up, these are the pods
// that its selector last matched.
func exists(o *recommend.Observation) func(pod string) bool {
	there := make(map[string]bool, len(o.Pods))
	for _, pod := range o.Pods {
		there[pod] = true
	}
	return func(pod string) bool { return there[pod] }
}

// outcome returns the result for the series.
func (w *work) outcome() outcomeOfPass {
	return outcomeOfPass{
		VPA: w.object, Decision: &w.decision, Containers: len(w.track.state.Containers), HasPods: w.pods > 0,
		LookupFailed: w.lookup.Problem != "",
	}
}
