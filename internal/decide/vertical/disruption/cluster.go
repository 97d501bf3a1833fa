package disruption

import (
	"slices"
	"time"
)

const (
	// minFailedWorkloads workloads, in minFailedNamespaces namespaces, whose replacements come up without the
	// recommendation show a problem of the cluster, not of a workload or a namespace.
	minFailedWorkloads, minFailedNamespaces = 3, 2
	// minEvictions evictions are permitted within a window, however few pods there are.
	minEvictions = 10
)

// ClusterCircuit combines the circuits of all workloads.
type ClusterCircuit struct {
	failed    []failed
	confirmed time.Time
}

// failed is a workload of a namespace.
type failed struct {
	namespace string
	NotAdmitted
}

// Add adds a workload's circuit. Pods that the API server would refuse do not show a broken admission: their own
// settings cause that.
func (o *ClusterCircuit) Add(namespace string, c *Circuit) {
	if c.NotAdmitted.Count > 0 && !c.NotAdmitted.Refused {
		o.failed = append(o.failed, failed{namespace, c.NotAdmitted})
	}
	if c.ConfirmedAt.After(o.confirmed) {
		o.confirmed = c.ConfirmedAt
	}
}

// Open reports whether several workloads, in several namespaces, had a replacement without the recommendation since the
// last correct one: then nothing is evicted in the whole cluster. One pause after the last of them, tries permits a
// test with one pod.
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
	// Percent of all controlled pods may be evicted within Window; 0 means no limit.
	Percent float64
	Window  time.Duration

	evicted []time.Time
}

// Resume counts pods that were created with the recommendation within the window as evictions of the previous process.
func (b *ClusterBudget) Resume(now time.Time, created []time.Time) {
	for _, at := range created {
		if now.Sub(at) < b.Window {
			b.evicted = append(b.evicted, at)
		}
	}
	slices.SortFunc(b.evicted, time.Time.Compare)
}

// Take counts an eviction if the budget for this number of pods permits one more.
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

// Left returns the number of pods that may still be evicted; false without a limit.
func (b *ClusterBudget) Left(now time.Time, pods int) (int, bool) {
	if b.Percent <= 0 {
		return 0, false
	}
	most := max(minEvictions, int(float64(pods)*b.Percent/100))
	return max(0, most-len(b.evicted)+b.expired(now)), true
}

// expired returns the number of evictions that no longer count.
func (b *ClusterBudget) expired(now time.Time) int {
	old := 0
	for old < len(b.evicted) && now.Sub(b.evicted[old]) >= b.Window {
		old++
	}
	return old
}

// Refund removes an eviction that was not done.
func (b *ClusterBudget) Refund() {
	if n := len(b.evicted); n > 0 {
		b.evicted = b.evicted[:n-1]
	}
}
