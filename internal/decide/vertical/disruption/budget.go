// Package disruption limits how many pods of a workload may be evicted or resized at a time, and how fast.
package disruption

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Policy is how much disruption is allowed.
type Policy struct {
	// MinReplicas is how many pods there must be, or nothing is evicted
	// (--min-replicas, updatePolicy.minReplicas).
	MinReplicas int
	// Tolerance is the part of the configured pods that may be away
	// (--eviction-tolerance).
	Tolerance float64
	// SkipInPlace lets a workload below MinReplicas be resized, though not evicted:
	// the mode resizes, and --in-place-skip-disruption-budget is given.
	SkipInPlace bool
	Divergences divergence.Set
}

// Replicas is how many pods a controller ought to have.
type Replicas struct {
	// Configured is 0 for kinds that Kubernetes does not count.
	Configured int
	// AsFound takes the pods that there are: a Job's.
	AsFound bool
	// Unknown reports a controller that cannot be read, or that wants no pods.
	Unknown bool
	// HasMaxUnavailable is set if its owner allows only MaxUnavailable pods to be away: a DaemonSet's rolling update.
	HasMaxUnavailable bool
	MaxUnavailable    int
}

// isCountless reports that the number of pods that there should be is unknown.
func (r *Replicas) isCountless() bool { return r.AsFound || r.Configured == 0 }

// Workload is what the pods belong to.
type Workload struct {
	// Creators has, by Pod.Creator, what made the pods.
	Creators map[string]Replicas
	// Target is the whole: of a Deployment's ReplicaSets, the Deployment.
	Target Replicas
	// Terminating is of the pods that are being deleted when each should have gone. A
	// StatefulSet replaces them only then.
	Terminating []time.Time
	// FailedCreate reports that the API server refuses new pods.
	FailedCreate bool
}

// stuck returns how many pods should have gone long ago: their node is dead, or a finalizer keeps them.
func (w *Workload) stuck(now time.Time) int {
	n := 0
	for _, until := range w.Terminating {
		if now.Sub(until) > startTimeout {
			n++
		}
	}
	return n
}

// group is pods that are counted together.
type group struct {
	// blockedBy is why none of its pods may be touched.
	blockedBy reason.Reason
	// belowMin: there are too few to evict, but they may be resized.
	belowMin                     bool
	configured, alive, tolerance int
	// evicted and resized are those of this pass, crashed those of the evicted that
	// were not alive.
	evicted, resized, crashed int
}

// Budget counts a workload's disruptions of one pass. It refers to pods by their
// index.
type Budget struct {
	groups []group
	of     []int
	states []state
	// together counts all pods as one group.
	together bool
}

// state is what a pod counts for.
type state uint8

const (
	// alive pods serve.
	alive state = iota
	// unready pods do not, for now. Their reason may lie outside of the updater, so one
	// more eviction may do harm.
	unready
	// crashed pods ran out of memory, or end with errors again and again: other
	// resources may be what they need.
	crashed
	// notCounted pods are no loss: they do not run yet, or it is our change that keeps them
	// from it.
	notCounted
)

func stateOf(pod *vertical.Pod, together, troubled bool) state {
	switch {
	case pod.Pending, together && troubled:
		return notCounted
	case !together || pod.Ready:
		return alive
	}
	for i := range pod.Containers {
		if c := &pod.Containers[i]; c.Crashed.OutOfMemory || c.Waiting && c.Crashed.Failed {
			return crashed
		}
	}
	return unready
}

// NewBudget counts the pods: those on a node that have not ended. Troubled ones, by
// their UIDs, do not come up for what was changed.
func NewBudget(now time.Time, p *Policy, w *Workload, pods []vertical.Pod, troubled map[string]bool) Budget {
	together := p.Divergences.Has(divergence.WorkloadBudget)
	b := Budget{of: make([]int, len(pods)), states: make([]state, len(pods)), together: together}
	members := b.group(pods)
	for g := range b.groups {
		replicas := w.Creators[pods[members[g][0]].Creator]
		if together {
			replicas = w.Target
		}
		b.groups[g] = p.newGroup(replicas, pods, members[g], w.stuck(now))
		for _, i := range members[g] {
			b.states[i] = stateOf(&pods[i], together, troubled[pods[i].UID])
			if b.states[i] == alive {
				b.groups[g].alive++
			}
		}
	}
	return b
}

// group sorts the pods into groups: one for all, or one for each creator.
func (b *Budget) group(pods []vertical.Pod) (members [][]int) {
	known := map[string]int{}
	for i := range pods {
		key := pods[i].Creator
		if b.together {
			key = ""
		}
		g, ok := known[key]
		if !ok {
			g = len(members)
			known[key] = g
			members = append(members, nil)
		}
		members[g] = append(members[g], i)
		b.of[i] = g
	}
	b.groups = make([]group, len(members))
	return members
}

// newGroup follows upstream (pkg/updater/restriction/
// pods_restriction_factory.go, v1.8.1): tolerance is cut to a whole number, and
// a pod with a start-up boost opens a group that is too small.
func (p *Policy) newGroup(r Replicas, pods []vertical.Pod, members []int, stuck int) group {
	var g group
	together := p.Divergences.Has(divergence.WorkloadBudget)
	if len(members) < p.MinReplicas {
		isBoosted := func(i int) bool { return pods[i].IsBoosted() }
		switch {
		case p.SkipInPlace:
			g.belowMin = true
		case together || !slices.ContainsFunc(members, isBoosted):
			g.blockedBy = reason.MinReplicas
		}
	}
	if r.Unknown {
		g.blockedBy = cmp.Or(g.blockedBy, reason.UnknownReplicas)
		return g
	}
	g.configured = r.Configured
	switch {
	case together && r.isCountless():
		// Those that hang in their deletion were found before, and are away.
		g.configured = len(members) + stuck
	case r.AsFound:
		g.configured = len(members)
	}
	g.tolerance = int(float64(g.configured) * p.Tolerance)
	if together && r.HasMaxUnavailable {
		g.tolerance = min(g.tolerance, r.MaxUnavailable)
	}
	return g
}

// disruptable reports that one more pod may be away. Where the tolerance is less
// than a pod, one at a time may, if all others are there.
func (g *group) disruptable() bool {
	away := g.evicted + g.resized
	return g.alive-away > g.configured-g.tolerance || g.configured == g.alive && g.tolerance == 0 && away == 0
}

// BlockedBy says why the pod may not be touched at all.
func (b *Budget) BlockedBy(i int) reason.Reason { return b.groups[b.of[i]].blockedBy }

// DisruptionBlockedBy says why the pod may not be resized, though its group may be touched: it may
// have to restart. A pod that is not ready is no loss.
func (b *Budget) DisruptionBlockedBy(i int) reason.Reason {
	if why := b.BlockedBy(i); why != reason.None {
		return why
	}
	return b.overTolerance(i)
}

// UnboostBlockedBy says why the start-up boost of the pod may not be ended. That too few
// pods are there is no reason: nothing is evicted.
func (b *Budget) UnboostBlockedBy(i int) reason.Reason {
	if why := b.BlockedBy(i); why != reason.None && (why != reason.MinReplicas || !b.together) {
		return why
	}
	return b.overTolerance(i)
}

func (b *Budget) overTolerance(i int) reason.Reason {
	if b.states[i] != alive || b.groups[b.of[i]].disruptable() {
		return reason.None
	}
	return reason.DisruptionBudget
}

// EvictionBlockedBy says why the pod may not be evicted. One that is free is no loss. Of crashed
// ones as many go in one pass as may be away.
func (b *Budget) EvictionBlockedBy(i int) reason.Reason {
	g := &b.groups[b.of[i]]
	switch {
	case g.blockedBy != reason.None:
		return g.blockedBy
	case b.states[i] == notCounted:
		return reason.None
	case g.belowMin:
		return reason.MinReplicas
	case b.states[i] == crashed && g.crashed < max(1, g.tolerance), g.disruptable():
		return reason.None
	}
	return reason.DisruptionBudget
}

// IsCrashed reports a pod that does not serve, and that may need other resources.
func (b *Budget) IsCrashed(i int) bool { return b.states[i] == crashed }

// RecordEviction counts an eviction.
func (b *Budget) RecordEviction(i int) {
	g := &b.groups[b.of[i]]
	switch b.states[i] {
	case crashed:
		g.crashed++
	case alive, unready:
		g.evicted++
	}
}

// RecordResize counts a resize. Upstream counts that of a pod that does not run too.
func (b *Budget) RecordResize(i int) {
	if !b.together || b.states[i] == alive {
		b.groups[b.of[i]].resized++
	}
}
