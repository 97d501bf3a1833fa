package source

import "time"

// Fallback is what a metric asks for after it could not be computed for some time (KEP-5679, with the behaviors of
// KEDA). The zero value is none.
type Fallback struct {
	// FailureDuration is how long the metric must have failed without interruption; 0 means that there is no fallback.
	FailureDuration time.Duration
	Replicas        int32
	Behavior        FallbackBehavior
}

// FallbackBehavior says how the current replica count takes part.
type FallbackBehavior uint8

// The behaviors.
const (
	// Static asks for Replicas.
	Static FallbackBehavior = iota
	// CurrentReplicas asks for the current count.
	CurrentReplicas
	// CurrentReplicasIfHigher asks for the current count or Replicas, whichever is higher.
	CurrentReplicasIfHigher
	// CurrentReplicasIfLower asks for the current count or Replicas, whichever is lower.
	CurrentReplicasIfLower
)

var behaviors = [...]string{"Static", "CurrentReplicas", "CurrentReplicasIfHigher", "CurrentReplicasIfLower"}

// String is the behavior as the spec has it.
func (b FallbackBehavior) String() string { return behaviors[b] }

// ParseFallbackBehavior reads what String writes; nothing is Static.
func ParseFallbackBehavior(text string) (b FallbackBehavior, isKnown bool) {
	if text == "" {
		return Static, true
	}
	for i, name := range behaviors {
		if name == text {
			return FallbackBehavior(i), true
		}
	}
	return Static, false
}

// ReplicasAt is how many replicas the fallback asks for at the current count.
func (f *Fallback) ReplicasAt(current int32) int32 {
	switch f.Behavior {
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
