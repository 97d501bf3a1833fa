// Package proposal has the replica counts that metrics and the surge window propose,
// and what the limits on a change have to know of their samples: which they are, and
// whether they are newer than the last scale-up.
package proposal

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"

// Source is what a proposal comes from.
type Source uint8

// The sources.
const (
	// None: there is no proposal.
	None Source = iota
	// Metric: a metric of the policy.
	Metric
	// Surge: the surge window over one of them.
	Surge
)

// Proposal is the replica count that one source asks for.
type Proposal struct {
	Source Source
	// Index is the metric's place in the policy.
	Index    int
	Replicas int32
	// MayLower says that the source knows enough to lower the count.
	MayLower bool
}

// Or is the larger of two proposals. As upstream, a proposal of zero replicas gives
// way to any later one.
func (p Proposal) Or(later Proposal) Proposal {
	if p.Replicas == 0 || later.Replicas > p.Replicas {
		return later
	}
	return p
}

// OfMetrics is the largest of those of the metrics that could be computed.
func OfMetrics(results []metric.Result, mayLower bool) (best Proposal) {
	for i := range results {
		if r := &results[i]; r.Failure == nil && !r.Pending {
			best = best.Or(Proposal{Source: Metric, Index: i, Replicas: r.Replicas, MayLower: mayLower})
		}
	}
	return best
}
