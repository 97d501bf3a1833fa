package horizontal

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// workspace has the buffers of a decision. It is part of the state, so that the next decision reuses them and allocates
// nothing. It is as large as the largest decision so far: a result for each metric, a byte for each metric and pod.
type workspace struct {
	// context is here because it would otherwise escape to the heap; it is empty between decisions.
	context metric.Context
	results []metric.Result
	groups  []metric.Group
	pending behavior.Pending
	// schedules and fallbacks are used for a WorkloadAutoscaler.
	schedules schedules.Cache
	fallbacks fallback.Result
}

// grow returns a slice for the results of a decision. It is never nil: nil means that metrics were not evaluated.
func (w *workspace) grow(metrics, pods int) []metric.Result {
	if w.results == nil || cap(w.results) < metrics {
		w.results = make([]metric.Result, metrics)
	}
	if cap(w.groups) < metrics*pods {
		w.groups = make([]metric.Group, metrics*pods)
	}
	results, groups := w.results[:metrics], w.groups[:cap(w.groups)]
	for i := range results {
		// Each metric's buffer ends where the next one's begins.
		results[i].Groups = groups[i*pods : i*pods : (i+1)*pods]
	}
	return results
}

// pend returns the change to settle.
func (w *workspace) pend(b *behavior.Behavior, d *Decision) *behavior.Pending {
	w.pending = behavior.PendingOf(b, d.Current, d.Desired)
	return &w.pending
}

// Clone returns a copy that shares no buffers with the state that the decision came from, to keep it beyond the next
// decision.
func (d *Decision) Clone() Decision {
	c := *d
	c.Metrics = slices.Clone(d.Metrics)
	for i := range c.Metrics {
		c.Metrics[i].Groups = slices.Clone(c.Metrics[i].Groups)
	}
	c.Schedules.InForce = slices.Clone(d.Schedules.InForce)
	c.Fallbacks = d.Fallbacks.Clone()
	return c
}
