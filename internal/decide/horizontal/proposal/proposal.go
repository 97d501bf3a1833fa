// Package proposal is how everybody who wants a count says so: metrics, the surge
// window, and whoever comes later.
package proposal

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"

// Source is who makes a proposal.
type Source uint8

// The sources.
const (
	// None: nobody made one.
	None Source = iota
	// Metric: a metric of the policy.
	Metric
	// Surge: the surge window over one of them.
	Surge
)

// Proposal is one source's wish.
type Proposal struct {
	Source Source
	// Index is the metric's place in the policy.
	Index    int
	Replicas int32
	// MayLower says that the source knows enough to lower the count.
	MayLower bool
}

// Or is the larger of two proposals. As upstream, a wish for zero gives way to
// any later one.
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
