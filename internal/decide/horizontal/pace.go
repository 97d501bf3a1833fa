package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/basis"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/pace"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

type (
	// Behavior holds the scaling rules of both directions.
	Behavior = pace.Behavior
	// Rules are the scaling rules of one direction.
	Rules = pace.Rules
	// Select says which of several rate policies holds.
	Select = pace.Select
	// RateType is the unit of a rate policy.
	RateType = pace.RateType
	// RatePolicy permits a change in each period.
	RatePolicy = pace.RatePolicy
	// Stabilized is what the stabilization windows made of the wish.
	Stabilized = pace.Stabilized
	// StabilizedReason is the reason that AbleToScale gives.
	StabilizedReason = pace.StabilizedReason
	// Limited is what rate policies, min and max made of the stabilized wish.
	Limited = pace.Limited
	// LimitReason is the reason that ScalingLimited gives.
	LimitReason = pace.LimitReason
)

// The words of package pace that policies and decisions are said in.
const (
	SelectMax           = pace.SelectMax
	SelectMin           = pace.SelectMin
	SelectDisabled      = pace.SelectDisabled
	RatePods            = pace.RatePods
	RatePercent         = pace.RatePercent
	ReadyForNewScale    = pace.ReadyForNewScale
	ScaleUpStabilized   = pace.ScaleUpStabilized
	ScaleDownStabilized = pace.ScaleDownStabilized
	DesiredWithinRange  = pace.DesiredWithinRange
	TooFewReplicas      = pace.TooFewReplicas
	TooManyReplicas     = pace.TooManyReplicas
	ScaleUpLimit        = pace.ScaleUpLimit
	ScaleDownLimit      = pace.ScaleDownLimit
)

// bound takes the wish through the windows, the rates, min and max.
func (d *Decision) bound(s *State, wish int32) {
	p := d.policy
	limits := pace.Limits{
		MinReplicas: p.MinReplicas, MaxReplicas: p.MaxReplicas, Behavior: p.Behavior,
		DownscaleStabilization: p.DownscaleStabilization, Divergences: p.Divergences,
	}
	history := pace.History{
		Recommendations: &s.Recommendations, Ups: s.ScaleUps, Downs: s.ScaleDowns,
		LastUp: s.LastScaleUp, LastUpOn: s.LastScaleUpOn,
	}
	lasting := basis.Lasting(d.Metrics, &s.work.context, s.Surges.Without)
	w := pace.Wish{
		Now: d.At, Current: d.Current, Replicas: wish, Passing: max(0, wish-lasting), PassingHold: surge.Confirmation,
		Fresh: basis.Fresh(d.At, &history, d.Metrics, &d.Surge),
	}
	d.Stabilized = pace.Stabilize(&limits, &history, w)
	w.Replicas = d.Stabilized.Replicas
	d.Limited = pace.Limit(&limits, &history, w)
	s.Surges.Decided(d.Current, d.Limited.Replicas, lasting, d.Wish.Source == proposal.Surge)
}
