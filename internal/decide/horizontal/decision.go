package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// Decision is what is wanted and everything that led there. Status, events,
// logs and explanations print it; none computes it again.
//
// Metrics, with the groups of its results, lies in buffers that Decide's state
// lends until the next Decide on that state writes over them; Settle leaves them
// alone. Whoever keeps a decision longer takes a Clone. Reports and what is made
// of them are copies.
type Decision struct {
	At     time.Time
	Branch Branch
	// Trigger is why it was made then.
	Trigger trigger.Kind
	// Current is the count the decision starts from, Desired what the target
	// shall have.
	Current, Desired int32
	// Rescale reports whether the scale is to be written.
	Rescale bool
	// Metrics holds one result for each metric of the policy, or nothing where
	// metrics were not looked at.
	Metrics []metric.Result
	// Failed is how many of the metrics could not be computed, Pending of how many the
	// values are still awaited, and Outdated how many know nothing newer than the last
	// scale-up. None of these lowers the count.
	Failed, Pending, Outdated int
	// Surge is what the surge window made of the last few seconds.
	Surge surge.Result
	// Proposed is the proposal that won, before any limit.
	Proposed proposal.Proposal
	// Stabilized and Limited are the limits on the way, in this order. They are
	// set on BranchMetrics only.
	Stabilized behavior.Stabilized
	Limited    behavior.Limited
	// RaisedToMin says that a target at zero goes to min replicas at least.
	RaisedToMin bool

	policy   *Policy
	target   Target
	conflict report.Conflict
}

// Branch is the way that a decision took.
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
	// BranchAwaiting: what is known asks for a lower count or for none, and values that
	// may say otherwise are awaited. It leaves everything as it is, status included.
	BranchAwaiting
)

// String names the branch as traces print it.
func (b Branch) String() string {
	return [...]string{"NoScale", "Disabled", "AboveMax", "BelowMin", "Failed", "Metrics", "Awaiting"}[b]
}
