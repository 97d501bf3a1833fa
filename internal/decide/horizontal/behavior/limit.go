package behavior

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Limited is the stabilized proposal within rate policies, min and max.
type Limited struct {
	Replicas int32
	Reason   LimitReason
	// RateLimit is the farthest count that the rate permits now. Rated is set if a rate policy was evaluated.
	RateLimit int32
	Rated     bool
	// LeftZero is set if the rate permitted nothing from zero, or a window held it there, and the first replica was
	// permitted nevertheless.
	LeftZero bool
	// IsDoublingHeld is set if an HPA without behavior waits for a newer answer before it doubles again.
	IsDoublingHeld bool
}

// LimitReason is the reason that ScalingLimited gives.
type LimitReason uint8

// The reasons.
const (
	DesiredWithinRange LimitReason = iota
	TooFewReplicas
	TooManyReplicas
	ScaleUpLimit
	ScaleDownLimit
)

// String returns the reason's name in the condition.
func (r LimitReason) String() string {
	return [...]string{"DesiredWithinRange", "TooFewReplicas", "TooManyReplicas", "ScaleUpLimit", "ScaleDownLimit"}[r]
}

// Message returns the condition's message.
func (r LimitReason) Message() string {
	switch r {
	case TooFewReplicas:
		return "the desired replica count is less than the minimum replica count"
	case TooManyReplicas:
		return "the desired replica count is more than the maximum replica count"
	case ScaleUpLimit:
		return "the desired replica count is increasing faster than the maximum scale rate"
	case ScaleDownLimit:
		return "the desired replica count is decreasing faster than the maximum scale rate"
	default:
		return "the desired count is within the acceptable range"
	}
}

// Limit applies the rate of change, then min and max.
func Limit(l *Limits, h *History, w Proposed) Limited {
	switch {
	case l.Behavior == nil:
		return limitPlain(l, w)
	case w.Replicas > w.Current:
		return limitUp(l, h, w)
	case w.Replicas < w.Current:
		return limitDown(l, h, w)
	default:
		return Limited{Replicas: w.Replicas}
	}
}

// limitPlain is for objects without behavior (upstream:
// convertDesiredReplicasWithRules).
func limitPlain(l *Limits, w Proposed) Limited {
	rate, isHeld := doubling(l, w)
	bound := Limited{Replicas: l.MaxReplicas, Reason: TooManyReplicas, RateLimit: rate, Rated: true}
	if l.MaxReplicas > rate {
		bound.Replicas, bound.Reason, bound.IsDoublingHeld = rate, ScaleUpLimit, isHeld
	}
	switch {
	case w.Replicas < l.MinReplicas:
		return Limited{Replicas: l.MinReplicas, Reason: TooFewReplicas}
	case w.Replicas > bound.Replicas:
		return bound
	default:
		return Limited{Replicas: w.Replicas}
	}
}

// limitUp and limitDown apply the rate policies (upstream:
// convertDesiredReplicasWithBehaviorRate).
func limitUp(l *Limits, h *History, w Proposed) Limited {
	bound := Limited{Replicas: l.MaxReplicas, Reason: TooManyReplicas, Rated: true}
	bound.RateLimit = max(w.Current, rateLimit(l, h, w, true))
	if w.Current == 0 && bound.RateLimit == 0 && l.Behavior.Up.Select != SelectDisabled &&
		l.Divergences.Has(divergence.LeaveZero) {
		bound.RateLimit, bound.LeftZero = 1, true
	}
	if l.MaxReplicas > bound.RateLimit {
		bound.Replicas, bound.Reason = bound.RateLimit, ScaleUpLimit
	}
	if w.Replicas > bound.Replicas {
		return bound
	}
	return within(w.Replicas, bound)
}

func limitDown(l *Limits, h *History, w Proposed) Limited {
	bound := Limited{Replicas: l.MinReplicas, Reason: TooFewReplicas, Rated: true}
	bound.RateLimit = min(w.Current, rateLimit(l, h, w, false))
	if l.MinReplicas < bound.RateLimit {
		bound.Replicas, bound.Reason = bound.RateLimit, ScaleDownLimit
	}
	if w.Replicas < bound.Replicas {
		return bound
	}
	return within(w.Replicas, bound)
}

func within(proposed int32, bound Limited) Limited {
	return Limited{Replicas: proposed, RateLimit: bound.RateLimit, Rated: bound.Rated, LeftZero: bound.LeftZero}
}

// rateLimit returns the farthest count that the policies of one direction permit. Each starts from the count at the
// start of its period: the current one without the changes since.
func rateLimit(l *Limits, h *History, w Proposed, up bool) int32 {
	rules := l.Behavior.Rules(up)
	if rules.Select == SelectDisabled {
		return w.Current
	}
	// The largest change is the highest count on the way up and the lowest on
	// the way down; the smallest change is the other end.
	highest := (rules.Select == SelectMax) == up
	result := int32(math.MaxInt32)
	if highest {
		result = math.MinInt32
	}
	for _, policy := range rules.Policies {
		permitted := l.use(h, w, policy, up).Permits
		if highest {
			result = max(result, permitted)
		} else {
			result = min(result, permitted)
		}
	}
	return result
}

// Use is the used part of a rate policy.
type Use struct {
	Policy RatePolicy
	Up     bool
	// Start is the count at the start of the period that ends now, according to the history, and Permits the farthest
	// count from there.
	Start, Permits int32
}

// Uses returns the used part of each policy of one direction; none without behavior, or if the direction is switched
// off.
func Uses(l *Limits, h *History, w Proposed, up bool) []Use {
	if l.Behavior == nil {
		return nil
	}
	rules := l.Behavior.Rules(up)
	if rules.Select == SelectDisabled {
		return nil
	}
	uses := make([]Use, len(rules.Policies))
	for i, policy := range rules.Policies {
		uses[i] = l.use(h, w, policy, up)
	}
	return uses
}

func (l *Limits) use(h *History, w Proposed, policy RatePolicy, up bool) Use {
	changed := h.Downs.Within(w.Now, policy.Period) - h.Ups.Within(w.Now, policy.Period)
	u := Use{Policy: policy, Up: up, Start: l.arithmetic().ToInt32(int64(w.Current) + changed)}
	u.Permits = permit(l.arithmetic(), policy, u.Start, up)
	return u
}

// permit returns the count that one policy permits from the start of its period. It rounds up on the way up, because
// otherwise a small count could never grow, and truncates on the way down.
func permit(sum arithmetic.Mode, policy RatePolicy, start int32, up bool) int32 {
	change := int64(policy.Value)
	if !up {
		change = -change
	}
	switch {
	case policy.Type == RatePods:
		return sum.ToInt32(int64(start) + change)
	case up:
		return sum.Ceil32(float64(start) * (1 + float64(policy.Value)/100))
	default:
		return sum.Trunc32(float64(start) * (1 - float64(policy.Value)/100))
	}
}
