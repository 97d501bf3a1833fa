package recommend

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// A status is written when it says something new. Upstream writes it with each
// sample, because the upper bound then moves a little. With the divergence
// quiet-status a recommendation has moved when
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

// worthWriting is why the status should be written, or empty.
func worthWriting(now time.Time, p *Policy, s State, o *Observation, d *Decision) string {
	before := o.Published
	switch {
	case before == nil:
		return "there is none"
	case before.Generation != o.Generation:
		return "the object was changed"
	case !slices.EqualFunc(before.Conditions, d.Conditions, sameCondition):
		return "a condition changed"
	case slices.EqualFunc(before.Recommendations, d.Recommendations, same):
		return ""
	case !p.Has(divergence.QuietStatus):
		return "it differs"
	case !slices.EqualFunc(before.Recommendations, d.Recommendations, near):
		return "a recommendation moved"
	case now.Sub(s.Written.Time()) >= refreshAfter:
		return "it is old"
	}
	return ""
}

// sameCondition leaves the time out: it moves with the status alone.
func sameCondition(a, b Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// near reports whether a recommendation has not moved by enough to matter.
func near(before, now vertical.Recommendation) bool {
	return within(before, now, targetFraction, boundFraction)
}

// same reports whether a recommendation has not moved at all, however it is written.
func same(before, now vertical.Recommendation) bool { return within(before, now, 0, 0) }

func within(before, now vertical.Recommendation, target, bound float64) bool {
	return before.Container == now.Container &&
		nearAmounts(before.Target, now.Target, target) && nearAmounts(before.Uncapped, now.Uncapped, target) &&
		nearAmounts(before.Lower, now.Lower, bound) && nearAmounts(before.Upper, now.Upper, bound)
}

func nearAmounts(before, now vertical.Amounts, fraction float64) bool {
	for r := range vertical.Resource(vertical.Resources) {
		was, had := before.Get(r)
		is, has := now.Get(r)
		if had != has || float64(max(was-is, is-was)) > fraction*float64(was) {
			return false
		}
	}
	return true
}
