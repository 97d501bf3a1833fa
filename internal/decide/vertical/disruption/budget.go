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

// Policy limits disruption.
type Policy struct {
	// MinReplicas is the smallest number of pods with which the updater evicts any (--min-replicas,
	// updatePolicy.minReplicas).
	MinReplicas int
	// Tolerance is the fraction of the configured pods that may be unavailable (--eviction-tolerance).
	Tolerance float64
	// SkipInPlace permits resizes, but no evictions, of a workload below MinReplicas: the mode resizes, and
	// --in-place-skip-disruption-budget is set.
	SkipInPlace bool
	Divergences divergence.Set
}

// Replicas is the desired number of pods of a controller.
type Replicas struct {
	// Configured is 0 for kinds that Kubernetes does not count.
	Configured int
	// AsFound is set if the existing pods count, as for a Job.
	AsFound bool
	// Unknown is set if the controller cannot be read, or wants no pods.
	Unknown bool
	// HasMaxUnavailable is set if at most MaxUnavailable pods may be unavailable: a DaemonSet's rolling update.
	HasMaxUnavailable bool
	MaxUnavailable    int
}

// isCountless reports whether the desired number of pods is unknown.
func (r *Replicas) isCountless() bool { return r.AsFound || r.Configured == 0 }

// Workload describes the controllers of the pods.
type Workload struct {
	// Creators has the pods' direct controllers, by Pod.Creator.
	Creators map[string]Replicas
	// Target is the topmost controller: for a Deployment's ReplicaSets, the Deployment.
	Target Replicas
	// Terminating has, for each pod that is being deleted, the time by which it should be gone. A StatefulSet replaces it
	// only then.
	Terminating []time.Time
	// FailedCreate is set if the API server refuses new pods.
	FailedCreate bool
}

// stuck returns the number of pods that should have been gone for long: their node is dead, or a finalizer keeps them.
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
	// blockedBy is the reason that blocks changes of all its pods.
	blockedBy reason.Reason
	// belowMin is set if there are too few pods to evict one, but they may be resized.
	belowMin                     bool
	configured, alive, tolerance int
	// evicted and resized count the changes of this pass, crashed the evicted pods that were not alive.
	evicted, resized, crashed int
}

// Budget counts a workload's disruptions of one pass. It refers to pods by their
// index.
type Budget struct {
	groups []group
	of     []int
	states []state
	// together is set if all pods form one group.
	together bool
}

// state says how a pod counts.
type state uint8

const (
	// alive: the pod serves.
	alive state = iota
	// unready: the pod does not serve now. The cause may be outside of the updater, so one more eviction may do harm.
	unready
	// crashed: the pod ran out of memory, or ends with errors again and again: other resources may help.
	crashed
	// notCounted: evicting the pod loses nothing: it does not run yet, or the updater's change prevents that.
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

// NewBudget counts the pods that are on a node and have not ended. Troubled ones, by their UIDs, do not become ready
// because of a change.
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

// group returns the groups of pods: one for all, or one for each creator.
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

// newGroup follows upstream (pkg/updater/restriction/ pods_restriction_factory.go, v1.8.1): the tolerance is truncated,
// and a pod with a start-up boost exempts its group from the minimum.
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
		// Pods that are stuck in deletion count as unavailable.
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

// disruptable reports whether one more pod may become unavailable. If the tolerance is less than one pod, one at a time
// may, if all others are available.
func (g *group) disruptable() bool {
	away := g.evicted + g.resized
	return g.alive-away > g.configured-g.tolerance || g.configured == g.alive && g.tolerance == 0 && away == 0
}

// BlockedBy returns the reason that blocks any change of the pod.
func (b *Budget) BlockedBy(i int) reason.Reason { return b.groups[b.of[i]].blockedBy }

// DisruptionBlockedBy returns the reason that blocks a resize with a restart of the pod, although its group may be
// changed. A pod that is not ready is no loss.
func (b *Budget) DisruptionBlockedBy(i int) reason.Reason {
	if why := b.BlockedBy(i); why != reason.None {
		return why
	}
	return b.overTolerance(i)
}

// UnboostBlockedBy returns the reason that blocks the end of the pod's start-up boost. Too few pods do not block it:
// nothing is evicted.
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

// EvictionBlockedBy returns the reason that blocks the eviction of the pod. One that is not counted is no loss. One
// pass evicts as many crashed pods as may be unavailable.
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

// IsCrashed reports whether the pod does not serve and may need other resources.
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

// RecordResize counts a resize. Upstream also counts that of a pod that does not run.
func (b *Budget) RecordResize(i int) {
	if !b.together || b.states[i] == alive {
		b.groups[b.of[i]].resized++
	}
}
