// Package status is the status of a VerticalPodAutoscaler as the recommender writes
// it: what it says, the problems that the recommender finds beside the samples, and when there is something new to
// write.
package status

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Published is what the object's status says.
type Published struct {
	Generation      int64
	Recommendations []vertical.Recommendation
	Conditions      []condition.Condition
}

// IsTrue reports whether the status has the condition, and it is True.
func (p *Published) IsTrue(kind string) bool {
	return p != nil && condition.Sorted.IsTrue(p.Conditions, kind)
}

// A status is written when it says something new. Upstream writes it with each
// sample, because the upper bound then moves a little. A quiet status is written for
// a recommendation that has moved, which is when
//
//   - a target did by more than a hundredth, which a twentieth always is: a bucket;
//   - a bound did by more than a tenth: the updater changes pods that are outside,
//     and a tenth of a bound that is itself widened by doubt is no reason to;
//   - anything did, and it was written six hours ago.
const (
	targetFraction = 0.01
	boundFraction  = 0.1
	refreshAfter   = 6 * time.Hour
)

// WriteReason is why the status should be written.
type WriteReason uint8

// The reasons.
const (
	// NotWritten is none: it should not.
	NotWritten WriteReason = iota
	// NoStatus: there is no status yet.
	NoStatus
	// NewGeneration: the object was changed.
	NewGeneration
	// ConditionChanged: a condition is new, is gone, or says something else.
	ConditionChanged
	// RecommendationChanged: a recommendation differs, by however little. A quiet status is
	// not written for that.
	RecommendationChanged
	// RecommendationMoved: a recommendation differs by enough to matter.
	RecommendationMoved
	// Outdated: a recommendation differs a little, and the status is old.
	Outdated
)

// String returns the reason as logs print it.
func (r WriteReason) String() string {
	return [...]string{
		"", "there is no status", "the object was changed", "a condition changed", "a recommendation changed",
		"a recommendation moved",
		"the status is old",
	}[r]
}

// Refresh says how soon a small change is written.
type Refresh struct {
	// IsQuiet is set if it is only once the status is old.
	IsQuiet bool
	// Age is the status's.
	Age time.Duration
}

// ReasonToWrite compares what the status says, which is nil if there is none, with what
// it should say.
func ReasonToWrite(before, after *Published, refresh Refresh) WriteReason {
	switch {
	case before == nil:
		return NoStatus
	case before.Generation != after.Generation:
		return NewGeneration
	case !slices.EqualFunc(before.Conditions, after.Conditions, isSameCondition):
		return ConditionChanged
	case slices.EqualFunc(before.Recommendations, after.Recommendations, isSame):
		return NotWritten
	case !refresh.IsQuiet:
		return RecommendationChanged
	case !slices.EqualFunc(before.Recommendations, after.Recommendations, isNear):
		return RecommendationMoved
	case refresh.Age >= refreshAfter:
		return Outdated
	}
	return NotWritten
}

func isSameCondition(a, b condition.Condition) bool { return a.IsSame(&b) }

// isNear reports whether a recommendation has not moved by enough to matter.
func isNear(before, after vertical.Recommendation) bool {
	return within(before, after, targetFraction, boundFraction)
}

// isSame reports whether a recommendation has not moved at all, however it is written.
func isSame(before, after vertical.Recommendation) bool { return within(before, after, 0, 0) }

func within(before, after vertical.Recommendation, target, bound float64) bool {
	return before.Container == after.Container &&
		areNear(before.Target, after.Target, target) && areNear(before.Uncapped, after.Uncapped, target) &&
		areNear(before.Lower, after.Lower, bound) && areNear(before.Upper, after.Upper, bound)
}

func areNear(before, after vertical.Amounts, fraction float64) bool {
	for r := range vertical.Resource(vertical.Resources) {
		was, had := before.Get(r)
		is, has := after.Get(r)
		if had != has || float64(max(was-is, is-was)) > fraction*float64(was) {
			return false
		}
	}
	return true
}
