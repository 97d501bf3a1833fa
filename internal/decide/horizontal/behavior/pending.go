package behavior

import "time"

// Pending is a scale write that is under way.
type Pending struct {
	// Change is positive upwards.
	Change int32 `json:"change"`
	// Longest is the longest period of the direction's rate policies, in
	// nanoseconds; 0 without behavior, where changes are not remembered.
	Longest time.Duration `json:"longest"`
	// Samples are those that a scale-up without behavior was decided on.
	Samples []Sample `json:"samples,omitempty"`
}

// PendingOf is a change under these rules, which are nil without spec.behavior.
func PendingOf(b *Behavior, change int32) Pending {
	pending := Pending{Change: change}
	if b != nil {
		pending.Longest = b.Rules(change > 0).LongestPeriod()
	}
	return pending
}
