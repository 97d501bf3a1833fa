package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// FollowUp lists what a decision needs before the object's next sync period.
type FollowUp struct {
	// DecideAt is when to decide once more, on the samples of that time; zero without a reason. Reason is the cause,
	// Schedule the name of the schedule that changes then, and Metric the index of the metric whose fallback begins.
	DecideAt time.Time
	Reason   trigger.Reason
	Schedule string
	Metric   int
	// Suspects are the indices of the pods whose newest sample may be the first of a surge.
	// An early scrape gives the second one, which decides.
	Suspects []int
	// Forecast is when the forecast that raises the count is next renewed, at the end of a minute. It is zero otherwise.
	Forecast time.Time
	// NearThreshold is set if a metric of the pods that Plimsoll scrapes has come halfway through the tolerance above its
	// target, or further: their scrapes take precedence.
	NearThreshold bool
	// Calm has the limits with which new samples are compared before the next decision on them.
	Calm trigger.Calm
}

// FollowUp returns what the decision needs next. o is the decision's observation, s the state returned with it, and the
// suspects are appended to dst.
func (d *Decision) FollowUp(s *State, o *Observation, dst []int) FollowUp {
	again, c := d.again(), d.context(o)
	in := surge.Input{Specs: d.Policy.Metrics, Readings: o.Readings, Results: d.Metrics, Context: &c}
	next := surge.FollowUp{Suspects: dst}
	if d.Branch == BranchMetrics {
		next = in.FollowUp(&d.Policy.Surge, &d.Surge, surge.Change{
			IsMost: d.Desired >= d.Bounds.MaxReplicas, IsRaised: d.Desired > d.Current,
		}, dst)
	}
	return FollowUp{
		Forecast: forecast.Renewal(d.At, &d.Policy.Forecast, &d.Forecast), DecideAt: again.At, Reason: again.Reason,
		Schedule: again.Schedule, Metric: again.Metric, Suspects: next.Suspects, Calm: next.Calm,
		NearThreshold: surge.IsNear(d.Policy.Metrics, d.Metrics, d.Policy.Tolerance),
	}
}

func (d *Decision) again() (again trigger.Again) {
	if change := &d.Schedules.Next; change.Schedule != nil {
		again = again.OrEarlier(trigger.Again{
			At: change.At, Reason: trigger.OfSchedule(change.Kind), Schedule: change.Schedule.Name,
		})
	}
	again = again.OrEarlier(trigger.Again{
		At: d.Fallbacks.Due, Reason: trigger.FallbackDue, Metric: d.Fallbacks.DueMetric,
	})
	if d.Current > 0 && !d.Zero.IsCooledDown {
		again = again.OrEarlier(trigger.Again{At: d.Zero.CooldownEnd, Reason: trigger.CooldownEnd})
	}
	return again
}

// isDeferred reports whether a lower count was left to a later decision.
func (d *Decision) isDeferred(o *Observation) bool {
	return d.Branch == BranchAwaiting && o.defersLowering() && d.Failed+d.Pending+d.Outdated == 0
}
