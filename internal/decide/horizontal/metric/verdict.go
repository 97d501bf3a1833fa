package metric

// Verdict says how a metric came to its proposal.
type Verdict uint8

// The verdicts.
const (
	// Failed: no proposal, see the failure of the metric.
	Failed Verdict = iota
	// WithinTolerance: the ratio is too near to 1 to change anything.
	WithinTolerance
	// Scaled: the ratio times the base.
	Scaled
	// Recomputed: as Scaled, after missing or unready pods were filled in.
	Recomputed
	// DirectionKept: filling in, or a base that differs from the count, would
	// have turned the direction of the ratio; the count stays.
	DirectionKept
	// NothingReady: no pod is ready, so the ratio says nothing on a count.
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
