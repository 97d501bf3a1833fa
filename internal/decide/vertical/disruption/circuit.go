package disruption

import (
	"maps"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

const (
	// patience is how long a pod may take to start.
	patience = 5 * time.Minute
	// probation is how long a changed pod is watched.
	probation = 10 * time.Minute
)

// Circuit stops changes of a workload while pods that were changed do not come
// up: more of the same would take away the pods that still work.
type Circuit struct {
	// Resized are pods that were resized, by their UID.
	Resized map[string]time.Time `json:"resized,omitempty"`
	// EvictedFrom and EvictedTo are the first and the last eviction whose replacements
	// are watched: all pods created since.
	EvictedFrom time.Time `json:"evictedFrom,omitzero"`
	EvictedTo   time.Time `json:"evictedTo,omitzero"`
	// Since is when the circuit opened; zero while it is closed.
	Since time.Time `json:"since,omitzero"`
}

// Clone is a Circuit of its own.
func (c Circuit) Clone() Circuit {
	c.Resized = maps.Clone(c.Resized)
	return c
}

// Watch looks at the changed pods, those that wait for a node too, and says which
// are in trouble: they did not start, or end with errors since. While there is
// one, the circuit is open.
func (c *Circuit) Watch(now time.Time, pods []vertical.Pod) (troubled map[string]bool) {
	troubled = map[string]bool{}
	live := make(map[string]bool, len(pods))
	for i := range pods {
		pod := &pods[i]
		live[pod.UID] = true
		changed, ok := c.changedAt(pod)
		if !ok {
			continue
		}
		if inTrouble(now, pod, changed) {
			troubled[pod.UID] = true
		} else if pod.Ready && now.Sub(changed) > probation {
			delete(c.Resized, pod.UID)
		}
	}
	maps.DeleteFunc(c.Resized, func(uid string, _ time.Time) bool { return !live[uid] })
	switch {
	case len(troubled) == 0:
		c.Since = time.Time{}
		if now.Sub(c.EvictedTo) > probation {
			c.EvictedFrom, c.EvictedTo = time.Time{}, time.Time{}
		}
	case c.Since.IsZero():
		c.Since = now
	}
	return troubled
}

// changedAt is when the pod got resources of ours.
func (c *Circuit) changedAt(pod *vertical.Pod) (time.Time, bool) {
	if at, ok := c.Resized[pod.UID]; ok {
		return at, true
	}
	// Creation times have whole seconds.
	if !c.EvictedFrom.IsZero() && !pod.Created.Before(c.EvictedFrom.Truncate(time.Second)) {
		return pod.Created, true
	}
	return time.Time{}, false
}

func inTrouble(now time.Time, pod *vertical.Pod, changed time.Time) bool {
	if (pod.Pending || pod.Node == "") && now.Sub(changed) > patience {
		return true
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.Waiting && c.Crashed.Failed && !c.Crashed.Finished.Before(changed) {
			return true
		}
	}
	return false
}

// Open reports that no more pods are to be changed.
func (c *Circuit) Open() bool { return !c.Since.IsZero() }

// Evict notes an eviction.
func (c *Circuit) Evict(now time.Time) {
	if c.EvictedFrom.IsZero() {
		c.EvictedFrom = now
	}
	c.EvictedTo = now
}

// Resize notes a resize.
func (c *Circuit) Resize(now time.Time, pod *vertical.Pod) {
	if c.Resized == nil {
		c.Resized = map[string]time.Time{}
	}
	c.Resized[pod.UID] = now
}
