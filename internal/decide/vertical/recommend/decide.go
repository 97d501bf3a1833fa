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

// Decision is what one object's status should say, and why.
type Decision struct {
	// Recommendations are sorted by container.
	Recommendations []vertical.Recommendation
	// Conditions are all that the status should have, sorted by type.
	Conditions []condition.Condition
	// Write is why the status should be written.
	Write status.WriteReason
	// Events are to be recorded, once.
	Events []Event
	// Traces explain the recommendations, in the same order.
	Traces []Trace
	// Discarded are the samples that nothing was learnt from, but for those that are
	// merely not new.
	Discarded []Discarded
}

// Trace is how a container's recommendation was arrived at.
type Trace struct {
	estimate.Trace
	// Contention is the highest of its pods.
	Contention cpucontention.Shares
}

// Discarded is a sample that was left out.
type Discarded struct {
	Pod, Container string
	Resource       vertical.Resource
	Why            string
}

// Event is what an owner should hear of.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Decide adds an observation to the history and recommends from all of it. The outcome of
// the decision must be passed to Settle.
func Decide(now time.Time, p Policy, s State, o Observation) (Decision, State) {
	next, discarded := learn(now, &p, s, &o)
	if next.Written.IsZero() {
		next.Written = vertical.StampOf(now) // from here on the refreshing of the status is counted
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
			continue // its floor would be all that there is to say
		}
		// Nothing is left where all is fought over. The API takes no empty target.
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

// choose returns the containers that are recommended for: those that something is known of, or that exist, without
// those that the owner leaves out. With the divergence live-containers only those that exist, unless the workload has
// no pods at all: it will have the same containers when it has pods again. Where a floor applies, its containers need
// no samples.
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
