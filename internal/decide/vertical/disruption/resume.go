package disruption

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// maxWatched is how long after it was changed a pod can still be the one that opens
// the circuit: it may take its time to start, and is watched then.
const maxWatched = startTimeout + watchPeriod

// Past is what the previous process last wrote about the workload.
type Past struct {
	// Updating: it was changing pods. Open: it had stopped, as changed pods did not
	// come up, or new ones were not created. NotAdmitted: as replacements came up
	// without what is recommended.
	Updating, Open, NotAdmitted bool
}

// Resume returns the Circuit of a process that begins, from what pods and status show. A replacement does not show
// whether the updater evicted its predecessor: every pod that admission changed not long ago is watched. If there is
// none, and pods were being changed, every young one is. One that was changed long ago counts only if it is in trouble
// and the circuit was open.
func Resume(now time.Time, pods []vertical.Pod, past Past) Circuit {
	var c Circuit
	if past.Updating || past.Open {
		// What was evicted last may not have been replaced yet.
		c.EvictedFrom, c.EvictedTo, c.Expected = now, now, len(pods)
	}
	if past.NotAdmitted {
		// How long the pause was is not stored.
		c.NotAdmitted = NotAdmitted{
			Count: 1, Created: newest(pods), At: now, Until: now.Add(firstPause),
			Refused: slices.ContainsFunc(pods, func(pod vertical.Pod) bool { return pod.Refused }),
		}
	}
	watchesAll := past.Updating && !admittedRecently(now, pods)
	for i := range pods {
		pod := &pods[i]
		if !pod.Resized.IsZero() && past.isWatched(now, pod, pod.Resized) {
			c.RecordResize(pod.Resized, pod)
		}
		replaces := pod.Admitted || watchesAll && now.Sub(pod.Created) <= maxWatched
		if !replaces || !past.isWatched(now, pod, pod.Created) {
			continue
		}
		if c.EvictedFrom.IsZero() || pod.Created.Before(c.EvictedFrom) {
			c.EvictedFrom = pod.Created
		}
		if pod.Created.After(c.EvictedTo) {
			c.EvictedTo = pod.Created
		}
	}
	return c
}

// admittedRecently reports whether admission has given a pod its resources of late. Then those
// that it did not see are older than the recommendation.
func admittedRecently(now time.Time, pods []vertical.Pod) bool {
	return slices.ContainsFunc(pods,
		func(pod vertical.Pod) bool { return pod.Admitted && now.Sub(pod.Created) <= maxWatched })
}

func (p Past) isWatched(now time.Time, pod *vertical.Pod, changed time.Time) bool {
	return now.Sub(changed) <= maxWatched || p.Open && inTrouble(now, pod, changed)
}
