package disruption

import (
	"slices"
	"time"
)

const (
	// minFailedWorkloads workloads, of more than one namespace, whose replacements come up without
	// what is recommended are no accident of one of them, nor of one namespace's.
	minFailedWorkloads, minFailedNamespaces = 3, 2
	// minEvictions evictions are allowed within a window, however few pods there are.
	minEvictions = 10
)

// ClusterCircuit is what the circuits of all workloads show together.
type ClusterCircuit struct {
	failed    []failed
	confirmed time.Time
}

// failed is a workload of a namespace.
type failed struct {
	namespace string
	NotAdmitted
}

// Add takes a workload's circuit into account. Pods that the API server would refuse are no sign of a broken admission:
// their owners write what it would refuse.
func (o *ClusterCircuit) Add(namespace string, c *Circuit) {
	if c.NotAdmitted.Count > 0 && !c.NotAdmitted.Refused {
		o.failed = append(o.failed, failed{namespace, c.NotAdmitted})
	}
	if c.ConfirmedAt.After(o.confirmed) {
		o.confirmed = c.ConfirmedAt
	}
}

// Open reports that several workloads, not all of one namespace, had a replacement
// without what is recommended since the last one that came up as it should: nothing
// is evicted in the whole cluster. A pause after the last of them, one pod is tried.
func (o *ClusterCircuit) Open(now time.Time) (open, tries bool) {
	since, last, namespaces := 0, time.Time{}, map[string]bool{}
	for i := range o.failed {
		n := &o.failed[i]
		if !n.Created.After(o.confirmed) {
			continue
		}
		since++
		namespaces[n.namespace] = true
		if n.At.After(last) {
			last = n.At
		}
	}
	return since >= minFailedWorkloads && len(namespaces) >= minFailedNamespaces, now.Sub(last) >= firstPause
}

// ClusterBudget bounds evictions over all workloads.
type ClusterBudget struct {
	// Percent of all pods that are looked after may be evicted within Window; 0 is no
	// bound.
	Percent float64
	Window  time.Duration

	evicted []time.Time
}

// Resume counts pods that were created within the window with what is recommended
// as evictions of the process before.
func (b *ClusterBudget) Resume(now time.Time, created []time.Time) {
	for _, at := range created {
		if now.Sub(at) < b.Window {
			b.evicted = append(b.evicted, at)
		}
	}
	slices.SortFunc(b.evicted, time.Time.Compare)
}

// Take counts an eviction, if one more of so many pods may be evicted.
func (b *ClusterBudget) Take(now time.Time, pods int) bool {
	left, isBounded := b.Left(now, pods)
	switch {
	case !isBounded:
		return true
	case left == 0:
		return false
	}
	b.evicted = append(slices.Delete(b.evicted, 0, b.expired(now)), now)
	return true
}

// Left returns how many of so many pods may still be evicted; false is no bound.
func (b *ClusterBudget) Left(now time.Time, pods int) (int, bool) {
	if b.Percent <= 0 {
		return 0, false
	}
	most := max(minEvictions, int(float64(pods)*b.Percent/100))
	return max(0, most-len(b.evicted)+b.expired(now)), true
}

// expired returns how many evictions count no more.
func (b *ClusterBudget) expired(now time.Time) int {
	old := 0
	for old < len(b.evicted) && now.Sub(b.evicted[old]) >= b.Window {
		old++
	}
	return old
}

// Refund takes back an eviction that was not done.
func (b *ClusterBudget) Refund() {
	if n := len(b.evicted); n > 0 {
		b.evicted = b.evicted[:n-1]
	}
}
