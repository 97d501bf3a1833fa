package objects

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Load is the past load of what an autoscaler scales.
type Load struct {
	// Start is when the first minute begins.
	Start time.Time
	// Pods is how many pods carry the load of each minute at the target of the metric; NaN where that is not known.
	Pods []float64
	// Utilization is the part of what a pod can serve that it serves at the target, above 0 and 1 at most.
	Utilization float64
	// StartUp is from asking for a pod until it is ready; 0 if it is not known.
	StartUp time.Duration
	// Location is the time zone for schedules.
	Location *time.Location
	// Source is a text that says where the load is from.
	Source string
}

// LoadOf is the past load of an autoscaler; nil if it is not known.
func (c *Collection) LoadOf(h *Horizontal) *Load { return c.Loads[h.Namespace+"/"+h.Name] }

// leastReady is how many pods must show how long they took.
const leastReady = 3

// slowestStart is the longest that counts: a pod that became ready later has probably been ready before.
const slowestStart = 30 * time.Minute

// StartUpOf is how long a workload's own pods took from their creation until they were ready: nine of ten took no
// longer. It is 0 if there are too few to tell.
func StartUpOf(c *Collection, w *Workload) time.Duration {
	var took []time.Duration
	for _, r := range c.Own(w) {
		for i := range r.Pod.Status.Conditions {
			ready := &r.Pod.Status.Conditions[i]
			since := ready.LastTransitionTime.Sub(r.Pod.CreationTimestamp.Time)
			if ready.Type == corev1.PodReady && ready.Status == corev1.ConditionTrue && since > 0 && since <= slowestStart {
				took = append(took, since)
			}
		}
	}
	if len(took) < leastReady {
		return 0
	}
	slices.Sort(took)
	return took[(9*len(took)-1)/10]
}
