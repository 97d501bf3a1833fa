package disruption

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// maxWatched is the time after its change for which a pod can open the circuit: the time to start, and the time for
// which it is watched then.
const maxWatched = startTimeout + watchPeriod

// Past is the workload's condition by the previous process.
type Past struct {
	// Updating is set if it was changing pods; Open if it had stopped because changed pods did not come up or new ones
	// were not created; NotAdmitted if it had stopped because replacements came up without the recommendation.
	Updating, Open, NotAdmitted bool
}

// Resume returns the Circuit of a new process, from the pods and the status. A replacement does not show whether the
// updater evicted its predecessor: every pod that admission changed recently is watched. If there is none, and pods
// were being changed, every young pod is. A pod changed long ago counts only if it fails and the circuit was open.
func Resume(now time.Time, pods []vertical.Pod, past Past) Circuit {
	var c Circuit
	if past.Updating || past.Open {
		// The last evicted pods may not have been replaced yet.
		c.EvictedFrom, c.EvictedTo, c.Expected = now, now, len(pods)
	}
	if past.NotAdmitted {
		// The length of the pause is not stored.
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

// admittedRecently reports whether admission has set a pod's resources recently. Then pods that it did not change are
// older than the recommendation.
func admittedRecently(now time.Time, pods []vertical.Pod) bool {
	return slices.ContainsFunc(pods,
		func(pod vertical.Pod) bool { return pod.Admitted && now.Sub(pod.Created) <= maxWatched })
}

func (p Past) isWatched(now time.Time, pod *vertical.Pod, changed time.Time) bool {
	return now.Sub(changed) <= maxWatched || p.Open && inTrouble(now, pod, changed)
}
