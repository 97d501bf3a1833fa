package source

import "time"

// Fallback is the proposal of a metric after it has failed for some time (KEP-5679, with the policies of KEDA, which
// calls them behaviors). The zero value means none.
type Fallback struct {
	// FailureDuration is the time for which the metric must have failed without interruption; 0 means that there is no
	// fallback.
	FailureDuration time.Duration
	Replicas        int32
	Policy          FallbackPolicy
}

// FallbackPolicy says how the current replica count is used.
type FallbackPolicy uint8

// The policies.
const (
	// Static asks for Replicas.
	Static FallbackPolicy = iota
	// CurrentReplicas asks for the current count.
	CurrentReplicas
	// CurrentReplicasIfHigher asks for the current count or Replicas, whichever is higher.
	CurrentReplicasIfHigher
	// CurrentReplicasIfLower asks for the current count or Replicas, whichever is lower.
	CurrentReplicasIfLower
)

var policies = [...]string{"Static", "CurrentReplicas", "CurrentReplicasIfHigher", "CurrentReplicasIfLower"}

// String returns the policy as the spec has it.
func (p FallbackPolicy) String() string { return policies[p] }

// ParseFallbackPolicy reads what String writes; nothing is Static.
func ParseFallbackPolicy(text string) (p FallbackPolicy, ok bool) {
	if text == "" {
		return Static, true
	}
	for i, name := range policies {
		if name == text {
			return FallbackPolicy(i), true
		}
	}
	return Static, false
}

// ReplicasAt returns how many replicas the fallback asks for at the current count.
func (f *Fallback) ReplicasAt(current int32) int32 {
	switch f.Policy {
	case CurrentReplicas:
		return current
	case CurrentReplicasIfHigher:
		return max(current, f.Replicas)
	case CurrentReplicasIfLower:
		return min(current, f.Replicas)
	default:
		return f.Replicas
	}
}
