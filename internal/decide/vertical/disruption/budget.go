// Package disruption says how many pods of a workload may be taken away at a
// time, and how fast.
package disruption

import (
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
}

// Workload is what the pods belong to.
type Workload struct {
	// Creators has, by Pod.Creator, what made the pods.
	Creators map[string]Replicas
	// Target is the whole: of a Deployment's ReplicaSets, the Deployment.
	Target Replicas
}

// group is pods that are counted together.
type group struct {
	// refused is why none of its pods may be touched.
	refused reason.Reason
	// belowMin: there are too few to evict, but they may be resized.
	belowMin                     bool
	configured, alive, tolerance int
	// evicted and resized are those of this pass.
	evicted, resized int
}

// Budget counts a workload's disruptions of one pass. It refers to pods by their
// index.
type Budget struct {
	groups []group
	of     []int
	// free are pods whose loss takes nothing away.
	free []bool
	// together counts all pods as one group.
	together bool
}

// NewBudget counts the pods: those on a node that have not ended.
func NewBudget(p *Policy, w *Workload, pods []vertical.Pod) Budget {
	together := p.Divergences.Has(divergence.WorkloadBudget)
	b := Budget{of: make([]int, len(pods)), free: make([]bool, len(pods)), together: together}
	members := b.group(pods)
	for g := range b.groups {
		replicas := w.Creators[pods[members[g][0]].Creator]
		if together {
			replicas = w.Target
		}
		b.groups[g] = p.newGroup(replicas, pods, members[g])
		for _, i := range members[g] {
			b.free[i] = pods[i].Pending || together && !pods[i].Ready
			if !b.free[i] {
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
func (p *Policy) newGroup(r Replicas, pods []vertical.Pod, members []int) group {
	var g group
	if len(members) < p.MinReplicas {
		boosted := false
		if !p.Divergences.Has(divergence.WorkloadBudget) {
			for _, i := range members {
				boosted = boosted || pods[i].IsBoosted()
			}
		}
		if !boosted && !p.SkipInPlace {
			return group{refused: reason.MinReplicas}
		}
		g.belowMin = p.SkipInPlace
	}
	if r.Unknown {
		return group{refused: reason.UnknownReplicas}
	}
	g.configured = r.Configured
	countless := r.Configured == 0 && p.Divergences.Has(divergence.WorkloadBudget)
	if r.AsFound || countless {
		g.configured = len(members)
	}
	g.tolerance = int(float64(g.configured) * p.Tolerance)
	return g
}

// disruptable reports that one more pod may be away. Where the tolerance is less
// than a pod, one at a time may, if all others are there.
func (g *group) disruptable() bool {
	away := g.evicted + g.resized
	return g.alive-away > g.configured-g.tolerance || g.configured == g.alive && g.tolerance == 0 && away == 0
}

// Refuses says why the pod may not be touched at all.
func (b *Budget) Refuses(i int) reason.Reason { return b.groups[b.of[i]].refused }

// Spare says why the pod may not be away, though its group may be touched.
func (b *Budget) Spare(i int) reason.Reason {
	g := &b.groups[b.of[i]]
	switch {
	case g.refused != reason.None:
		return g.refused
	case b.free[i] || g.disruptable():
		return reason.None
	}
	return reason.DisruptionBudget
}

// Evict says why the pod may not be evicted. A pod that does not run is no loss.
func (b *Budget) Evict(i int) reason.Reason {
	g := &b.groups[b.of[i]]
	if g.refused == reason.None && !b.free[i] && g.belowMin {
		return reason.MinReplicas
	}
	return b.Spare(i)
}

// Evicted counts an eviction.
func (b *Budget) Evicted(i int) {
	if !b.free[i] {
		b.groups[b.of[i]].evicted++
	}
}

// Resized counts a resize. Upstream counts that of a pod that does not run too.
func (b *Budget) Resized(i int) {
	if !b.together || !b.free[i] {
		b.groups[b.of[i]].resized++
	}
}
