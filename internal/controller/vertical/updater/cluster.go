package updater

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// stopEvictions leaves evictions out that the state of the whole cluster forbids:
// most nodes are not ready, or several workloads had replacements without what is
// recommended.
func stopEvictions(now time.Time, tasks []*task, nodes []any, divergences divergence.Set) {
	if divergences.Has(divergence.ClusterBudget) && mostNodesNotReady(nodes) {
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
