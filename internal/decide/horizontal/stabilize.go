package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/signal"
)

// limits is what a limit works on: the count as it is, and what is wished.
type limits struct {
	current, wish int32
}

// stabilize holds the wish against the recommendations within the windows, and
// remembers it.
func stabilize(p *Policy, s *State, now time.Time, l limits) Stabilized {
	var result Stabilized
	longest := p.DownscaleStabilization
	if p.Behavior == nil {
		result = stabilizeDown(p, s, now, l)
	} else {
		result = stabilizeBoth(p.Behavior, s, now, l)
		longest = max(p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization)
	}
	s.Recommendations.Expire(now.Add(-longest))
	s.Recommendations.Add(now, l.wish)
	return result
}

// stabilizeDown is for objects without behavior: the highest recommendation of
// the flag's window holds (upstream: stabilizeRecommendation). One exactly as
// old as the window counts.
func stabilizeDown(p *Policy, s *State, now time.Time, l limits) Stabilized {
	cutoff := now.Add(-p.DownscaleStabilization)
	result := Stabilized{Replicas: l.wish, Window: p.DownscaleStabilization}
	high, found := s.Recommendations.Highest(func(t time.Time) bool { return !t.Before(cutoff) })
	if found && high.Replicas > l.wish {
		result.Replicas, result.Reason, result.By = high.Replicas, ScaleDownStabilized, high
	}
	return result
}

// stabilizeBoth keeps the count between the lowest recommendation of the
// scale-up window and the highest of the scale-down window (upstream:
// stabilizeRecommendationWithBehaviors). One exactly as old as its window does
// not count.
func stabilizeBoth(b *Behavior, s *State, now time.Time, l limits) Stabilized {
	low := extreme(s.Recommendations.Lowest, now, b.Up.Stabilization, l.wish)
	high := extreme(s.Recommendations.Highest, now, b.Down.Stabilization, l.wish)
	low.Replicas, high.Replicas = min(low.Replicas, l.wish), max(high.Replicas, l.wish)

	result := Stabilized{Replicas: l.current}
	if result.Replicas < low.Replicas {
		result.Replicas, result.By, result.Window = low.Replicas, low, b.Up.Stabilization
	}
	if result.Replicas > high.Replicas {
		result.Replicas, result.By, result.Window = high.Replicas, high, b.Down.Stabilization
	}
	if result.Replicas == l.wish {
		return Stabilized{Replicas: l.wish}
	}
	if result.Replicas == l.current {
		// Neither bound moved the count: the one that the wish would pass holds it.
		result.By, result.Window = low, b.Up.Stabilization
		if l.wish < l.current {
			result.By, result.Window = high, b.Down.Stabilization
		}
	}
	result.Reason = ScaleUpStabilized
	if l.wish < l.current {
		result.Reason = ScaleDownStabilized
	}
	return result
}

func extreme(of func(func(time.Time) bool) (signal.Recommendation, bool), now time.Time,
	window time.Duration, wish int32,
) signal.Recommendation {
	cutoff := now.Add(-window)
	if entry, found := of(func(t time.Time) bool { return t.After(cutoff) }); found {
		return entry
	}
	return signal.Recommendation{Time: now, Replicas: wish}
}
