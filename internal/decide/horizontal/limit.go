package horizontal

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
)

// limit applies the rate of change, then min and max.
func limit(p *Policy, s *State, now time.Time, l limits) Limited {
	switch {
	case p.Behavior == nil:
		return limitPlain(p, l)
	case l.wish > l.current:
		return limitUp(p, s, now, l)
	case l.wish < l.current:
		return limitDown(p, s, now, l)
	default:
		return Limited{Replicas: l.wish}
	}
}

// limitPlain is for objects without behavior: at most double, or four replicas,
// at each decision (upstream: convertDesiredReplicasWithRules).
func limitPlain(p *Policy, l limits) Limited {
	const factor, least = 2, 4
	rate := p.arithmetic().Trunc32(math.Max(factor*float64(l.current), least))
	bound := Limited{Replicas: p.MaxReplicas, Reason: TooManyReplicas, RateLimit: rate, Rated: true}
	if p.MaxReplicas > rate {
		bound.Replicas, bound.Reason = rate, ScaleUpLimit
	}
	switch {
	case l.wish < p.MinReplicas:
		return Limited{Replicas: p.MinReplicas, Reason: TooFewReplicas}
	case l.wish > bound.Replicas:
		return bound
	default:
		return Limited{Replicas: l.wish}
	}
}

// limitUp and limitDown apply the rate policies (upstream:
// convertDesiredReplicasWithBehaviorRate).
func limitUp(p *Policy, s *State, now time.Time, l limits) Limited {
	bound := Limited{Replicas: p.MaxReplicas, Reason: TooManyReplicas, Rated: true}
	bound.RateLimit = max(l.current, rateLimit(p, s, now, rateArgs{rules: &p.Behavior.Up, current: l.current, up: true}))
	if l.current == 0 && bound.RateLimit == 0 && p.Behavior.Up.Select != SelectDisabled &&
		p.Divergences.Has(divergence.LeaveZero) {
		bound.RateLimit, bound.LeftZero = 1, true
	}
	if p.MaxReplicas > bound.RateLimit {
		bound.Replicas, bound.Reason = bound.RateLimit, ScaleUpLimit
	}
	if l.wish > bound.Replicas {
		return bound
	}
	return within(l.wish, bound)
}

func limitDown(p *Policy, s *State, now time.Time, l limits) Limited {
	bound := Limited{Replicas: p.MinReplicas, Reason: TooFewReplicas, Rated: true}
	bound.RateLimit = min(l.current, rateLimit(p, s, now, rateArgs{rules: &p.Behavior.Down, current: l.current}))
	if p.MinReplicas < bound.RateLimit {
		bound.Replicas, bound.Reason = bound.RateLimit, ScaleDownLimit
	}
	if l.wish < bound.Replicas {
		return bound
	}
	return within(l.wish, bound)
}

func within(wish int32, bound Limited) Limited {
	return Limited{Replicas: wish, RateLimit: bound.RateLimit, Rated: bound.Rated, LeftZero: bound.LeftZero}
}

type rateArgs struct {
	rules   *Rules
	current int32
	up      bool
}

// rateLimit is the farthest count that the policies of one direction permit.
// Each starts from the count at the start of its period: the current one
// without the changes since.
func rateLimit(p *Policy, s *State, now time.Time, a rateArgs) int32 {
	if a.rules.Select == SelectDisabled {
		return a.current
	}
	// The largest change is the highest count on the way up and the lowest on
	// the way down; the smallest change is the other end.
	highest := (a.rules.Select == SelectMax) == a.up
	result := int32(math.MaxInt32)
	if highest {
		result = math.MinInt32
	}
	for _, policy := range a.rules.Policies {
		changed := s.ScaleDowns.Within(now, policy.Period) - s.ScaleUps.Within(now, policy.Period)
		start := p.arithmetic().ToInt32(int64(a.current) + changed)
		permitted := permit(p.arithmetic(), policy, start, a.up)
		if highest {
			result = max(result, permitted)
		} else {
			result = min(result, permitted)
		}
	}
	return result
}

// permit is the count that one policy permits from the start of its period. Up
// is rounded up, as otherwise a small count could never rise; down is cut off.
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

func (p *Policy) arithmetic() arithmetic.Mode {
	return arithmetic.Mode(p.Divergences.Has(divergence.Saturate))
}
