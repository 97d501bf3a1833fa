package behavior

import "time"

// Pending is a scale write in progress.
type Pending struct {
	// Change is positive upwards.
	Change int32 `json:"change"`
	// Replicas is the count after it.
	Replicas int32 `json:"replicas,omitempty"`
	// Samples exists in states of earlier versions; nothing uses it.
	Samples []any `json:"samples,omitempty"`
	// Longest is the longest period of the direction's rate policies, in
	// nanoseconds; 0 without behavior, where changes are not remembered.
	Longest time.Duration `json:"longest"`
}

// PendingOf returns the scale event of a change under these rules, which are nil without spec.behavior.
func PendingOf(b *Behavior, from, to int32) Pending {
	pending := Pending{Change: to - from, Replicas: to}
	if b != nil {
		pending.Longest = b.Rules(to > from).LongestPeriod()
	}
	return pending
}
