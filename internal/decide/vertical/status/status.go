// Package status has the recommender's part of the status of a VerticalPodAutoscaler: its content, the problems other
// than of samples, and when a change is worth a write.
package status

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Published is the content of the object's status.
type Published struct {
	Generation      int64
	Recommendations []vertical.Recommendation
	Conditions      []condition.Condition
}

// IsTrue reports whether the status has the condition, and it is True.
func (p *Published) IsTrue(kind string) bool {
	return p != nil && condition.Sorted.IsTrue(p.Conditions, kind)
}

// A status is written when it changes. Upstream writes it with each sample, because each moves the upper bound a
// little. A quiet status is written for a recommendation that has moved, which is when
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
	// NotWritten: there is none.
	NotWritten WriteReason = iota
	// NoStatus: there is no status yet.
	NoStatus
	// NewGeneration: the object was changed.
	NewGeneration
	// ConditionChanged: a condition was added, removed or changed.
	ConditionChanged
	// RecommendationChanged: a recommendation differs by any amount. A quiet status is not written for that.
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

// Refresh says when a small change is written.
type Refresh struct {
	// IsQuiet is set if it is written only once the status is old.
	IsQuiet bool
	// Age is the age of the status.
	Age time.Duration
}

// ReasonToWrite returns the reason to replace the status before, nil if there is none, by after.
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

// isSame reports whether a recommendation has not moved at all, whatever its format.
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
