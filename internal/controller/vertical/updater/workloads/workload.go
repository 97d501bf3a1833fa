package workloads

import (
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Workload is a VerticalPodAutoscaler with the pods that it controls.
type Workload struct {
	VPA    *vpav1.VerticalPodAutoscaler
	Policy update.Policy
	Target ownership.Target
	Pods   []*corev1.Pod
	// Terminating has, for each pod that is being deleted, the time by which it should be gone.
	Terminating []time.Time
	// creators has the keys of the pods' controllers in the index.
	creators []string
}

// Key returns the namespace and name of the VerticalPodAutoscaler.
func (w *Workload) Key() string { return w.VPA.Namespace + "/" + w.VPA.Name }

// Mode returns the update mode as the object spells it.
func (w *Workload) Mode() string {
	if own := w.VPA.Spec.UpdatePolicy; own != nil && own.UpdateMode != nil && *own.UpdateMode != "" {
		return string(*own.UpdateMode)
	}
	return observevertical.ModeOf(&w.VPA.Spec).String()
}

// largest is the largest value of upstream's label.
const largest = 20

// Size returns the value of upstream's label for the number of pods, its logarithm.
func (w *Workload) Size() string {
	if len(w.Pods) == 0 {
		return "0"
	}
	return strconv.Itoa(min(largest, int(math.Log2(float64(len(w.Pods))))))
}

// assign adds each of a creator's pods to the object that controls it.
func assign(candidates []*Workload, creator string, pods []*corev1.Pod) {
	for _, pod := range pods {
		w := controlling(candidates, pod)
		if w == nil {
			continue
		}
		w.Pods = append(w.Pods, pod)
		if !slices.Contains(w.creators, creator) {
			w.creators = append(w.creators, creator)
		}
	}
}

// controlling returns the first candidate whose selector matches the pod.
func controlling(candidates []*Workload, pod *corev1.Pod) *Workload {
	for _, w := range candidates {
		if w.Target.Selector.Matches(labels.Set(pod.Labels)) {
			return w
		}
	}
	return nil
}
