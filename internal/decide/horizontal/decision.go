package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// Decision is the replica count and everything that led to it. Status, events, logs and explanations print it; none
// computes it again.
//
// Metrics, with the groups of its results, and the lists of Schedules and Fallbacks share buffers with Decide's state:
// the next Decide on that state overwrites them, Settle does not. To keep a decision longer, Clone it. Reports are
// copies.
type Decision struct {
	At     time.Time
	Branch Branch
	// Trigger is the cause of the decision.
	Trigger trigger.Kind
	// Current is the count before the decision, Desired the count that the target should have, and ActiveDesired that of
	// mode Active.
	Current, Desired, ActiveDesired int32
	// Rescale reports whether the scale is to be written.
	Rescale bool
	// Bounds are min and max, including the schedules in force, which Schedules lists.
	Bounds    schedules.Bounds
	Schedules schedules.Result
	// Tolerance is the largest deviation of a metric's ratio from 1 that causes no change.
	Tolerance metric.Tolerance
	// Metrics holds one result for each metric of the policy, or nothing where metrics were not evaluated.
	Metrics []metric.Result
	// Failed counts the metrics that could not be computed, Pending those without values yet, and Outdated those without
	// values newer than the last change of the count. None of these lowers the count.
	Failed, Pending, Outdated int
	// Surge is the result of the surge window.
	Surge surge.Result
	// Proposed is the proposal that won, before any limit.
	Proposed proposal.Proposal
	// Stabilized and Limited are the limits on the way, in this order. They are set on BranchMetrics only, but for
	// Limited where the count is lowered to the max of a schedule.
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
	// Load is the target's load, if it is known.
	Load forecast.Load
	// Forecast is the forecast. ForecastReplicas is the count that it raised the stabilized one to; 0 if it did not.
	Forecast         forecast.Result
	ForecastReplicas int32
	// RaisedToMin is set if a target at zero goes to min replicas at least.
	RaisedToMin bool
	// IsLoweringHeld is set if new samples alone would lower the count, which is decided once in a sync period.
	IsLoweringHeld bool
	// Fallbacks has the active ones, and Zero whether the target may go to zero; for a WorkloadAutoscaler only.
	Fallbacks fallback.Result
	Zero      zero.Result

	// Policy, Target, Conflict, Shown and Refusal are inputs of the decision.
	Policy   *Policy
	Target   Target
	Conflict Conflict
	Shown    Shown
	Refusal  Refusal
	// IsScaledToZero is the status of the condition before the decision. IsOwnZero is set if it must be True while there
	// are no replicas.
	IsScaledToZero, IsOwnZero bool
}

// Branch is the kind of a decision.
type Branch uint8

// The branches.
const (
	// BranchNoScale: the target's scale could not be read.
	BranchNoScale Branch = iota
	// BranchDisabled: the target has 0 replicas, which switches scaling off.
	BranchDisabled
	// BranchAboveMax: more replicas than max.
	BranchAboveMax
	// BranchBelowMin: fewer replicas than min.
	BranchBelowMin
	// BranchFailed: the selector or too many of the metrics are unusable.
	BranchFailed
	// BranchMetrics: the metrics decide.
	BranchMetrics
	// BranchAwaiting: the values so far ask for a lower count or for none, and others that
	// may ask for more have not arrived. Nothing changes, not even status.
	BranchAwaiting
	// BranchPaused: mode Paused. The metrics are evaluated; Stabilized and Limited are set
	// if they would have decided.
	BranchPaused
)

// String names the branch as traces print it.
func (b Branch) String() string {
	return [...]string{"NoScale", "Disabled", "AboveMax", "BelowMin", "Failed", "Metrics", "Awaiting", "Paused"}[b]
}
