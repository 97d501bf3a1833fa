package updater

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// clusterBudget is what may be evicted in the whole cluster; several workers share
// it.
type clusterBudget struct {
	mu sync.Mutex

	// What follows is guarded by mu.

	left disruption.ClusterBudget
	// pods is how many are looked after.
	pods int
	// refused is the first workload of a pass whose eviction has to wait.
	refused string
}

// newClusterBudget is what the flags allow; without the divergence it has no bound.
func newClusterBudget(cfg *Config) disruption.ClusterBudget {
	if !cfg.Flags.Divergences.Has(divergence.ClusterBudget) {
		return disruption.ClusterBudget{}
	}
	return disruption.ClusterBudget{Percent: cfg.MaxEvictionPercent, Window: cfg.MaxEvictionWindow}
}

func (b *clusterBudget) take(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.left.Take(time.Now(), b.pods)
	if !ok && b.refused == "" {
		b.refused = key
	}
	return ok
}

func (b *clusterBudget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left.Refund()
}

// evictionsLeft is how many pods may still be evicted; nil is no bound.
func (b *clusterBudget) evictionsLeft(now time.Time) *int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left, isBounded := b.left.Left(now, b.pods); isBounded {
		return &left
	}
	return nil
}

// begin counts the pods of a pass. The first pass of a process counts what the one
// before evicted, as far as pods show it.
func (b *clusterBudget) begin(now time.Time, tasks []*task, isFirst bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pods, b.refused = 0, ""
	var created []time.Time
	for _, t := range tasks {
		b.pods += len(t.Pods)
		for i := range t.observed.Pods {
			if pod := &t.observed.Pods[i]; isFirst && pod.Admitted {
				created = append(created, pod.Created)
			}
		}
	}
	if isFirst {
		b.left.Resume(now, created)
	}
}

// stopEvictions leaves evictions out that the state of the whole cluster forbids:
// most nodes are not ready, or several workloads had replacements without what is
// recommended.
func (c *Controller) stopEvictions(now time.Time, tasks []*task) {
	divergences := c.cfg.Flags.Divergences
	c.budget.begin(now, tasks, !c.hasPassed)
	c.hasPassed = true
	if divergences.Has(divergence.ClusterBudget) && mostNodesNotReady(c.workloads.Nodes()) {
		for _, t := range tasks {
			t.stopEvictions(reason.NodesNotReady)
		}
		return
	}
	if !divergences.Has(divergence.CircuitBreaker) {
		return
	}
	var overview disruption.ClusterCircuit
	for _, t := range tasks {
		overview.Add(t.VPA.Namespace, &t.state.Circuit)
	}
	open, tries := overview.Open(now)
	if !open {
		return
	}
	tried := (*task)(nil)
	if tries {
		tried = trialWorkload(tasks)
	}
	for _, t := range tasks {
		if t != tried {
			t.stopEvictions(reason.ClusterNotAdmitted)
		}
	}
}

func (t *task) stopEvictions(why reason.Reason) {
	t.evictionsStopped = why
	t.decision.StopEvictions(why)
}

// trialWorkload is the workload whose pod is evicted to see whether admission works again: one
// that has failed the least, as it may fail for a reason of its own. Nil if none is to be
// evicted.
func trialWorkload(tasks []*task) *task {
	var best *task
	for _, t := range tasks {
		if t.decision.First() == update.Evict &&
			(best == nil || t.state.Circuit.NotAdmitted.Count < best.state.Circuit.NotAdmitted.Count) {
			best = t
		}
	}
	return best
}

// mostNodesNotReady: one that says nothing of it is taken for ready.
func mostNodesNotReady(nodes []any) bool {
	down := 0
	for _, object := range nodes {
		node, ok := object.(*corev1.Node)
		if !ok {
			continue
		}
		for i := range node.Status.Conditions {
			if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				down++
			}
		}
	}
	return 2*down > len(nodes)
}
