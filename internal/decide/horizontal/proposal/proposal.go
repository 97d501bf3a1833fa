// Package proposal has the replica counts that metrics, the surge window, fallbacks, schedules and forecasts propose
// (proposal.go, all.go), and tells whether their samples are newer than the last change of the count (samples.go).
package proposal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Source is the origin of a proposal.
type Source uint8

// The sources.
const (
	// None: there is no proposal.
	None Source = iota
	// Metric: a metric of the policy.
	Metric
	// Surge: the surge window over one of them.
	Surge
	// Fallback: the fallback of one that cannot be computed.
	Fallback
	// Schedule: the min with the schedules in force.
	Schedule
	// Forecast: the load of earlier days.
	Forecast
)

// String returns the source as status shows it.
func (s Source) String() string {
	return [...]string{"None", "Metric", "Surge", "Fallback", "Schedule", "Forecast"}[s]
}

// Proposal is the replica count that one source asks for.
type Proposal struct {
	Source Source
	// Index is the index of the metric in the policy; for a schedule, that among those in force. A proposal of all
	// schedules together, for an object without metrics, has none.
	Index    int
	Replicas int32
	// MayLower is set if the source has enough values to lower the count.
	MayLower bool
}

// Or returns the larger of two proposals. As upstream, a proposal of zero replicas gives way to any later one.
func (p Proposal) Or(later Proposal) Proposal {
	if p.Replicas == 0 || later.Replicas > p.Replicas {
		return later
	}
	return p
}

// OfMetrics returns the largest proposal of the metrics that could be computed.
func OfMetrics(results []metric.Result, mayLower bool) (best Proposal) {
	for i := range results {
		if r := &results[i]; r.Failure == nil && !r.Pending {
			best = best.Or(Proposal{Source: Metric, Index: i, Replicas: r.Replicas, MayLower: mayLower})
		}
	}
	return best
}

// OfOthers returns the largest proposal without samples: of the active fallbacks, and of the schedules if they won.
func (p Proposal) OfOthers(active []fallback.Active) (replicas int32) {
	if p.Source == Schedule {
		replicas = p.Replicas
	}
	for _, f := range active {
		replicas = max(replicas, f.Replicas)
	}
	return replicas
}

// OrFallback returns the largest of a proposal and those of the active fallbacks.
func (p Proposal) OrFallback(active []fallback.Active, mayLower bool) Proposal {
	for _, f := range active {
		p = p.Or(Proposal{Source: Fallback, Index: f.Metric, Replicas: f.Replicas, MayLower: mayLower})
	}
	return p
}
