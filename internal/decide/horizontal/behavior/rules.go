// Package behavior bounds how fast and how far the count may move: stabilization
// windows, rate policies, min and max.
package behavior

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// Limits are the limits of the object and of the controller's flags.
type Limits struct {
	MinReplicas, MaxReplicas int32
	// Behavior is nil for an object without spec.behavior, which upstream treats
	// by rules of its own.
	Behavior *Behavior
	// DownscaleStabilization is the flag's window; it applies without Behavior.
	DownscaleStabilization time.Duration
	Divergences            divergence.Set
}

func (l *Limits) arithmetic() arithmetic.Mode {
	return arithmetic.Mode(l.Divergences.Has(divergence.Saturate))
}

// History is the history that the limits use.
type History struct {
	Recommendations *history.Recommendations
	// Ups and Downs are the scale events.
	Ups, Downs history.Changes
}

// Proposed is a proposal and the current count.
type Proposed struct {
	Now               time.Time
	Current, Replicas int32
	// Fresh is the largest count proposed on values that were requested after the last raise of the count. Only the rate
	// without behavior uses it.
	Fresh int32
	// Passing is the part of Replicas that only the last few seconds ask for, or asked for when they raised the count. It
	// keeps the count for PassingWindow at most. Without behavior it is stored only as far as the count follows it now:
	// otherwise a stored recommendation would raise the count later, too.
	Passing int32
	// PassingWindow is how long Passing keeps the count.
	PassingWindow time.Duration
	// IsBetween is set if the decision is between two sync periods.
	IsBetween bool
}

// Behavior has the scaling rules of both directions.
type Behavior struct {
	Up, Down Rules
}

// Rules returns those of one direction.
func (b *Behavior) Rules(up bool) *Rules {
	if up {
		return &b.Up
	}
	return &b.Down
}

// Rules are the scaling rules of one direction.
type Rules struct {
	Stabilization time.Duration
	Select        Select
	Policies      []RatePolicy
}

// LongestPeriod returns that of the rate policies.
func (r *Rules) LongestPeriod() (longest time.Duration) {
	for i := range r.Policies {
		longest = max(longest, r.Policies[i].Period)
	}
	return longest
}

// Select says which of several rate policies applies.
type Select uint8

// The ways to select.
const (
	// SelectMax takes the policy that permits the largest change.
	SelectMax Select = iota
	// SelectMin takes the policy that permits the smallest change.
	SelectMin
	// SelectDisabled permits no change in this direction.
	SelectDisabled
)

// RateType is the unit of a rate policy.
type RateType uint8

// The units.
const (
	// RatePods counts replicas.
	RatePods RateType = iota
	// RatePercent counts percent of the replicas at the period's start.
	RatePercent
)

// RatePolicy permits a change of Value in each Period.
type RatePolicy struct {
	Type   RateType
	Value  int32
	Period time.Duration
}
