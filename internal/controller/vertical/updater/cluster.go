package updater

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// stopEvictions removes the evictions that the state of the whole cluster forbids: most nodes are not ready, or
// replacements of several workloads came without the recommendation.
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
	var circuit disruption.ClusterCircuit
	for _, t := range tasks {
		circuit.Add(t.VPA.Namespace, &t.state.Circuit)
	}
	open, tries := circuit.Open(now)
	if !open {
		return
	}
	var trial *task
	if tries {
		trial = trialWorkload(tasks)
	}
	for _, t := range tasks {
		if t != trial {
			t.stopEvictions(reason.ClusterNotAdmitted)
		}
	}
}

// trialWorkload returns the workload whose pod is evicted to test whether admission works again: the one with the
// fewest failures, because another may fail for a reason of its own. It returns nil if no pod is to be evicted.
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

// mostNodesNotReady counts nodes without the condition Ready as ready.
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
