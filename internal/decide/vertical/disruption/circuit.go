package disruption

import (
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

const (
	// startTimeout is the longest time for a pod to start, or to be created at all.
	startTimeout = 5 * time.Minute
	// watchPeriod is the time for which a changed pod is watched, and for which the replacement of an evicted pod may run
	// without being ready.
	watchPeriod = 10 * time.Minute
	// firstPause is the time without evictions after a replacement came up without the recommendation. It doubles every
	// time, up to longestPause.
	firstPause   = 30 * time.Minute
	longestPause = 24 * time.Hour
	maxDoublings = 6
)

// Circuit is the circuit breaker of a workload: it stops changes while changed pods do not come up, which would end the
// pods that still work. It evicts one pod first; others follow once its replacement is ready and has the recommended
// resources.
type Circuit struct {
	// Resized has the times of resizes by the pods' UIDs.
	Resized map[string]time.Time `json:"resized,omitempty"`
	// EvictedFrom and EvictedTo are the times of the first and the last eviction whose replacements are watched: all pods
	// created since.
	EvictedFrom time.Time `json:"evictedFrom,omitzero"`
	EvictedTo   time.Time `json:"evictedTo,omitzero"`
	// Expected is the number of pods at the first of these evictions, and Recommended the recommendation at the last.
	Expected    int                       `json:"expected,omitempty"`
	Recommended []vertical.Recommendation `json:"recommended,omitempty"`
	// Confirmed is set if a replacement has come up correctly since. ConfirmedAt is the creation time of the youngest that
	// ever did: admission worked then.
	Confirmed   bool      `json:"confirmed,omitempty"`
	ConfirmedAt time.Time `json:"confirmedAt,omitzero"`
	// Judged is the creation time of the youngest pod that was compared with the recommendation: each is compared once,
	// because recommendations change.
	Judged time.Time `json:"judged,omitzero"`
	// MissingSince is since when there have been too few pods.
	MissingSince time.Time `json:"missingSince,omitzero"`
	// Since is when the circuit opened; zero while it is closed.
	Since time.Time `json:"since,omitzero"`

	NotAdmitted NotAdmitted `json:"notAdmitted,omitzero"`
}

// NotAdmitted records replacements that came up without the recommendation.
type NotAdmitted struct {
	// Count is the number of evictions in a row with such a replacement.
	Count int `json:"count"`
	// Created is the creation time of the last such pod, whatever it replaces; At is when one that replaces an evicted pod
	// was last observed.
	Created time.Time `json:"created"`
	At      time.Time `json:"at"`
	// Until is the time until which no pod is evicted because of it.
	Until time.Time `json:"until"`
	// Refused is set if admission left the pod unchanged on purpose, so that admission works.
	Refused bool `json:"refused,omitempty"`
}

// Clone returns a copy.
func (c Circuit) Clone() Circuit {
	c.Resized = maps.Clone(c.Resized)
	c.Recommended = slices.Clone(c.Recommended)
	return c
}

// Findings are the results of Observe.
type Findings struct {
	// Troubled has the UIDs of changed pods that did not start, that end with errors since, or that replace an evicted pod
	// and do not become ready.
	Troubled map[string]bool
	// Missing is the number of missing pods.
	Missing int
	// Open is the reason why the circuit is open: reason.CircuitOpen, FailedCreate or NotAdmitted; None while it is
	// closed.
	Open reason.Reason
}

// Observe checks the changed pods, including those that wait for a node, and whether pods are missing. unchanged
// reports whether a pod lacks the recommendation.
func (c *Circuit) Observe(
	now time.Time, pods []vertical.Pod, w *Workload, unchanged func(*vertical.Pod) bool,
) Findings {
	found := Findings{Troubled: map[string]bool{}}
	live := make(map[string]bool, len(pods))
	var came replacements
	for i := range pods {
		pod := &pods[i]
		live[pod.UID] = true
		evicted, troubled := c.observePod(now, pod)
		if troubled {
			found.Troubled[pod.UID] = true
		}
		if evicted || c.NotAdmitted.Count > 0 && pod.Created.After(c.NotAdmitted.Created) {
			came.add(pod, pod.Created.After(c.Judged) && unchanged(pod), evicted)
		}
	}
	maps.DeleteFunc(c.Resized, func(uid string, _ time.Time) bool { return !live[uid] })
	found.Missing = c.missing(len(pods)+w.stuck(now), w)
	c.recordReplacements(now, &came, found.Missing == 0 && len(found.Troubled) == 0)
	found.Open = c.openFor(now, &found, w)
	settled := c.Confirmed || found.Missing == 0 && !came.starting
	if len(found.Troubled) == 0 && settled && now.Sub(c.EvictedTo) > watchPeriod {
		c.endRound()
	}
	return found
}

// observePod reports whether the pod was created after an eviction, and whether it fails because of a change. It drops
// a resized pod that has been fine for long.
func (c *Circuit) observePod(now time.Time, pod *vertical.Pod) (evicted, troubled bool) {
	changed, evicted, ok := c.changedAt(pod)
	switch {
	case !ok:
	case inTrouble(now, pod, changed) || evicted && isOverdue(now, pod):
		return evicted, true
	case pod.Ready && now.Sub(changed) > watchPeriod:
		delete(c.Resized, pod.UID)
	}
	return evicted, false
}

// replacements summarizes the pods that were created after an eviction.
type replacements struct {
	// unadmitted is the youngest without the recommendation.
	unadmitted *vertical.Pod
	// ready is set if one is ready, starting if one may become so.
	ready, starting bool
	// youngest is the creation time of the last one, readyCreated that of the last one that is ready.
	youngest, readyCreated time.Time
}

func (r *replacements) add(pod *vertical.Pod, unchanged, evicted bool) {
	if pod.Created.After(r.youngest) {
		r.youngest = pod.Created
	}
	switch {
	case unchanged:
		if r.unadmitted == nil || pod.Created.After(r.unadmitted.Created) {
			r.unadmitted = pod
		}
	case pod.Ready:
		r.ready = true
		if pod.Created.After(r.readyCreated) {
			r.readyCreated = pod.Created
		}
	default:
		r.starting = r.starting || evicted
	}
}

// missing returns the number of missing pods after evictions. A pod that is stuck in deletion counts as present: when
// its replacement comes is unknown.
func (c *Circuit) missing(there int, w *Workload) int {
	if c.EvictedTo.IsZero() || w.Target.Unknown {
		return 0
	}
	expected := w.Target.Configured
	if w.Target.isCountless() {
		if c.Confirmed {
			return 0
		}
		expected = c.Expected
	}
	return max(0, expected-there)
}

// recordReplacements records how replacements came up. well is set if there is no other problem.
func (c *Circuit) recordReplacements(now time.Time, came *replacements, well bool) {
	if came.youngest.After(c.Judged) {
		c.Judged = came.youngest
	}
	switch {
	case came.unadmitted != nil && !c.EvictedTo.IsZero():
		n := &c.NotAdmitted
		pause := min(longestPause, firstPause<<min(n.Count, maxDoublings))
		*n = NotAdmitted{
			Count: n.Count + 1, Created: came.unadmitted.Created, At: now, Until: now.Add(pause),
			Refused: came.unadmitted.Refused,
		}
		c.endRound()
	case came.unadmitted != nil:
		// It replaces no evicted pod. It is checked once, and must not count as correct from then on.
		c.NotAdmitted.Created = came.unadmitted.Created
	case came.ready && well:
		c.NotAdmitted = NotAdmitted{}
		c.Confirmed, c.ConfirmedAt = c.Confirmed || !c.EvictedTo.IsZero(), came.readyCreated
	}
}

// openFor returns the reason why the circuit is open, and records since when.
func (c *Circuit) openFor(now time.Time, found *Findings, w *Workload) reason.Reason {
	why := reason.None
	switch {
	case found.Missing <= len(w.Terminating)-w.stuck(now):
		c.MissingSince = time.Time{}
	case c.MissingSince.IsZero():
		c.MissingSince = now
	}
	switch {
	case len(found.Troubled) > 0:
		why = reason.CircuitOpen
	case now.Before(c.NotAdmitted.Until):
		why = reason.NotAdmitted
	case w.FailedCreate, !c.MissingSince.IsZero() && now.Sub(c.MissingSince) > startTimeout:
		why = reason.FailedCreate
	}
	switch {
	case why == reason.None:
		c.Since = time.Time{}
		return why
	case c.Since.IsZero():
		c.Since = now
	}
	c.Confirmed = false
	if why == reason.FailedCreate && w.Target.isCountless() && now.Sub(c.Since) > firstPause {
		// The number of missing pods is unknown.
		c.endRound()
	}
	return why
}

// endRound drops evictions whose replacements need no further watching.
func (c *Circuit) endRound() {
	c.EvictedFrom, c.EvictedTo, c.MissingSince = time.Time{}, time.Time{}, time.Time{}
	c.Expected, c.Recommended, c.Confirmed = 0, nil, false
}

// changedAt returns when the updater or admission set the pod's resources, and whether it was created after an
// eviction.
func (c *Circuit) changedAt(pod *vertical.Pod) (at time.Time, evicted, ok bool) {
	// Creation times have whole seconds.
	evicted = !c.EvictedFrom.IsZero() && !pod.Created.Before(c.EvictedFrom.Truncate(time.Second))
	if at, ok := c.Resized[pod.UID]; ok {
		return at, evicted, true
	}
	return pod.Created, evicted, evicted
}

func inTrouble(now time.Time, pod *vertical.Pod, changed time.Time) bool {
	if (pod.Pending || pod.Node == "") && now.Sub(changed) > startTimeout {
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

// isOverdue reports whether a pod runs and has not been ready for long.
func isOverdue(now time.Time, pod *vertical.Pod) bool {
	since := pod.Created
	if pod.ReadySince.After(since) {
		since = pod.ReadySince
	}
	return !pod.Ready && now.Sub(since) > watchPeriod
}

// Open reports whether no more pods may be changed.
func (c *Circuit) Open() bool { return !c.Since.IsZero() }

// AwaitsReplacement reports whether an evicted pod's replacement has not come up yet: no other pod is evicted until it
// has.
func (c *Circuit) AwaitsReplacement() bool { return !c.EvictedTo.IsZero() && !c.Confirmed }

// AllowsCrashed reports whether a crashing pod may be evicted although the circuit is open: a StatefulSet does not
// create a missing pod while an earlier one crashes, so that it would never recover. It permits one pod in firstPause,
// and the next one only after a replacement was created: refused pods do not always show as FailedCreate.
func (c *Circuit) AllowsCrashed(now time.Time, w *Workload) bool {
	if c.Since.IsZero() || w.FailedCreate || now.Sub(c.Since) < firstPause || now.Sub(c.EvictedTo) < firstPause {
		return false
	}
	// Creation times are by the API server's clock.
	return c.EvictedTo.Before(c.Since) || c.Judged.After(c.EvictedTo.Add(-startTimeout))
}

// RecordEviction records an eviction. Pods that are created after the youngest of the present ones, by the API server's
// clock, may be its replacement.
func (c *Circuit) RecordEviction(now time.Time, pods []vertical.Pod, recommended []vertical.Recommendation) {
	if c.EvictedFrom.IsZero() {
		c.EvictedFrom, c.Expected = now, len(pods)
		if len(pods) > 0 {
			c.EvictedFrom = newest(pods).Add(time.Second)
		}
	}
	c.EvictedTo, c.Recommended = now, recommended
}

func newest(pods []vertical.Pod) time.Time {
	var latest time.Time
	for i := range pods {
		if pods[i].Created.After(latest) {
			latest = pods[i].Created
		}
	}
	return latest
}

// RecordResize records a resize.
func (c *Circuit) RecordResize(now time.Time, pod *vertical.Pod) {
	if c.Resized == nil {
		c.Resized = map[string]time.Time{}
	}
	c.Resized[pod.UID] = now
}
