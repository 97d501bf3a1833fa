package recommend

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// Decision is the status of one object, and the reasons.
type Decision struct {
	// Recommendations are sorted by container.
	Recommendations []vertical.Recommendation
	// Conditions has all conditions of the status, sorted by type.
	Conditions []condition.Condition
	// Write is the reason to write the status.
	Write status.WriteReason
	// Events has the events to record, once.
	Events []Event
	// Traces explain the recommendations, in the same order.
	Traces []Trace
	// Discarded has the samples that were not used, except those that are merely not new.
	Discarded []Discarded
}

// TraceOf returns the trace of a container; nil if it has none.
func (d *Decision) TraceOf(container string) *Trace {
	for i := range d.Traces {
		if t := &d.Traces[i]; t.Container == container {
			return t
		}
	}
	return nil
}

// Trace has the steps of a container's recommendation.
type Trace struct {
	estimate.Trace
	// Contention is the highest of the container's pods.
	Contention cpucontention.Shares
}

// Discarded is a sample that was not used.
type Discarded struct {
	Pod, Container string
	Resource       vertical.Resource
	Why            string
}

// Event is an event on the object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Decide adds an observation to the history and recommends from all of it. The outcome of
// the decision must be passed to Settle.
func Decide(now time.Time, p Policy, s State, o Observation) (Decision, State) {
	next, discarded := learn(now, &p, s, &o)
	if next.Written.IsZero() {
		next.Written = vertical.StampOf(now) // the status counts as refreshed now
	}
	d := Decision{Discarded: discarded}
	floor := next.keepsFloor(now)
	chosen := choose(&p, next, &o, floor)
	e := estimate.For(&p.Policy, max(1, len(chosen)))
	for _, c := range chosen {
		var skipped [vertical.Resources]bool
		if o.SkipsConflicts && p.Has(divergence.SkipConflict) {
			skipped = conflict.Skipped(o.Conflicts, c.Name)
		}
		rec, trace := e.Container(c.Name, &c.Usage, skipped)
		if floor {
			rec = next.raise(&p, rec, &trace)
		}
		if rec.Target.IsEmpty() && trace.Unmeasured != [vertical.Resources]bool{} {
			continue // the recommendation would be its floor alone
		}
		// If all resources are in conflict, the target is empty, which the API refuses.
		if skipped == [vertical.Resources]bool{} || !rec.Target.IsEmpty() {
			d.Recommendations = append(d.Recommendations, rec)
		}
		d.Traces = append(d.Traces, Trace{Trace: trace, Contention: contention(&o, c.Name)})
	}
	d.Conditions = conditions(now, &p, next, &o, &d)
	d.Events = events(o.Published, d.Conditions)
	d.Write = status.ReasonToWrite(o.Published,
		&status.Published{Generation: o.Generation, Recommendations: d.Recommendations, Conditions: d.Conditions},
		status.Refresh{IsQuiet: p.Has(divergence.QuietStatus), Age: now.Sub(next.Written.Time())})
	return d, next
}

// choose returns the containers to recommend for: those with a history, or that exist, except those that the object
// switches off. With the divergence live-containers only those that exist, unless the workload has no pods at all: it
// will have the same containers when it has pods again. If a floor applies, its containers need no samples.
func choose(p *Policy, s State, o *Observation, floor bool) []*Container {
	if o.Lookup.Problem != "" && !p.keepsHistory(o) {
		return nil
	}
	present := func(c *Container) bool { return c.Present }
	onlyLive := p.Has(divergence.LiveContainers) &&
		slices.ContainsFunc(s.Containers, func(c Container) bool { return present(&c) })
	var chosen []*Container
	for i := range s.Containers {
		c := &s.Containers[i]
		if (c.Usage.Exists() || floor && c.Damage != "") && !vertical.PolicyOf(p.Containers, c.Name).Off &&
			(present(c) || !onlyLive) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// contention returns the highest of a container's pods.
func contention(o *Observation, container string) cpucontention.Shares {
	var highest cpucontention.Shares
	for i := range o.Samples {
		if s := &o.Samples[i]; s.Container == container {
			highest = highest.Max(s.Contention)
		}
	}
	return highest
}
