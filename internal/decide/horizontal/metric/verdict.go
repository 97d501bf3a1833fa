package metric

// Verdict says how a metric computed its proposal.
type Verdict uint8

// The verdicts.
const (
	// Failed: no proposal, see the metric's failure.
	Failed Verdict = iota
	// WithinTolerance: the ratio is too close to 1 to change the count.
	WithinTolerance
	// Scaled: the ratio times the base.
	Scaled
	// Recomputed: as Scaled, with assumptions for missing or unready pods.
	Recomputed
	// DirectionKept: assumptions, or a base that differs from the count, would have reversed the direction of the ratio;
	// the count stays.
	DirectionKept
	// NothingReady: no pod is ready, so the ratio cannot be multiplied.
	NothingReady
)

// String names the verdict as explanations print it.
func (v Verdict) String() string {
	switch v {
	case WithinTolerance:
		return "within tolerance"
	case Scaled:
		return "scaled by ratio"
	case Recomputed:
		return "recomputed with missing and unready pods"
	case DirectionKept:
		return "kept: the change would be against the ratio's direction"
	case NothingReady:
		return "kept: no pod is ready"
	default:
		return "failed"
	}
}
