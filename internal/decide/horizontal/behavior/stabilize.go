package behavior

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// Stabilized is the result of the stabilization windows.
type Stabilized struct {
	// Replicas is the proposal after stabilization.
	Replicas int32
	Reason   StabilizedReason
	// By is the earlier recommendation that changes the proposal; zero if none does.
	By history.Recommendation
	// Window is the time for which By counts: it ends at By.Time plus Window.
	Window time.Duration
	// IsPassing is set if only some seconds asked for By, and that it counts for PassingWindow at most.
	IsPassing bool
	// IsDisabled is set if without the window selectPolicy Disabled would permit no change in this direction either.
	IsDisabled bool
}

// StabilizedReason is the reason that AbleToScale gives.
type StabilizedReason uint8

// The reasons.
const (
	ReadyForNewScale StabilizedReason = iota
	ScaleUpStabilized
	ScaleDownStabilized
)

// String returns the reason's name in the condition.
func (r StabilizedReason) String() string {
	return [...]string{"ReadyForNewScale", "ScaleUpStabilized", "ScaleDownStabilized"}[r]
}

// Stabilize compares the proposal with the recommendations within the windows, and
// stores it among them.
func Stabilize(l *Limits, h *History, w Proposed) Stabilized {
	var result Stabilized
	longest := l.DownscaleStabilization
	if l.Behavior == nil {
		result = stabilizeDown(l.DownscaleStabilization, h, w)
	} else {
		result = stabilizeBoth(l.Behavior, h, w)
		longest = max(l.Behavior.Up.Stabilization, l.Behavior.Down.Stabilization)
	}
	if result.Reason == ScaleDownStabilized && h.Recommendations.IsPassing(result.By) {
		result.IsPassing, result.Window = true, min(result.Window, w.PassingWindow)
	}
	remember(l, h, w, w.Now.Add(-longest))
	return result
}

// remember adds the proposal to the recommendations. The part that only
// the surge window asked for delays scaling down for PassingWindow. A scale-up window uses
// the whole proposal, as often as upstream decides: the lowest of many looks is lower.
func remember(l *Limits, h *History, w Proposed, cutoff time.Time) {
	r, lasting := h.Recommendations, w.Replicas-w.Passing
	passing := w.Replicas
	if w.Passing > 0 && l.Behavior == nil {
		passing = max(lasting, min(w.Replicas, limitPlain(l, w).Replicas))
	}
	r.ExpirePassing(w.Now.Add(-w.PassingWindow))
	if passing > lasting {
		r.AddPassing(w.Now, passing)
	}
	if !l.Divergences.Has(divergence.WindowHistory) {
		r.Overwrite(w.Now, lasting, cutoff)
		return
	}
	r.Expire(cutoff)
	if w.IsBetween {
		r.AddHigh(w.Now, lasting)
		return
	}
	r.AddBoth(w.Now, lasting, w.Replicas)
}

// highest returns the highest recommendation that delays scaling down: one within the window, or a passing one within
// its own.
func highest(window time.Duration, h *History, w Proposed, inside func(time.Time) bool) (history.Recommendation, bool) {
	high, found := h.Recommendations.Highest(inside)
	passing, ok := h.Recommendations.HighestPassing(w.Now.Add(-min(window, w.PassingWindow)))
	if ok && inside(passing.Time) && (!found || passing.Replicas > high.Replicas) {
		return passing, true
	}
	return high, found
}

// Remember stores a proposal among the recommendations. Those older than the cutoff are
// in no window.
func Remember(r *history.Recommendations, d divergence.Set, proposed history.Recommendation, cutoff time.Time) {
	if !d.Has(divergence.WindowHistory) {
		r.Overwrite(proposed.Time, proposed.Replicas, cutoff)
		return
	}
	r.Expire(cutoff)
	r.Add(proposed.Time, proposed.Replicas)
}

// stabilizeDown is for HPAs without behavior: the highest recommendation of
// the flag's window applies (upstream: stabilizeRecommendation). One exactly as
// old as the window counts.
func stabilizeDown(window time.Duration, h *History, w Proposed) Stabilized {
	cutoff := w.Now.Add(-window)
	result := Stabilized{Replicas: w.Replicas, Window: window}
	high, found := highest(window, h, w, func(t time.Time) bool { return !t.Before(cutoff) })
	if found && high.Replicas > w.Replicas {
		result.Replicas, result.Reason, result.By = high.Replicas, ScaleDownStabilized, high
	}
	return result
}

// stabilizeBoth keeps the count between the lowest recommendation of the
// scale-up window and the highest of the scale-down window (upstream:
// stabilizeRecommendationWithBehaviors). One exactly as old as its window does
// not count.
func stabilizeBoth(b *Behavior, h *History, w Proposed) Stabilized {
	low := w.unless(h.Recommendations.Lowest(younger(w.Now.Add(-b.Up.Stabilization))))
	high := w.unless(highest(b.Down.Stabilization, h, w, younger(w.Now.Add(-b.Down.Stabilization))))
	low.Replicas, high.Replicas = min(low.Replicas, w.Replicas), max(high.Replicas, w.Replicas)

	result := Stabilized{Replicas: w.Current}
	if result.Replicas < low.Replicas {
		result.Replicas, result.By, result.Window = low.Replicas, low, b.Up.Stabilization
	}
	if result.Replicas > high.Replicas {
		result.Replicas, result.By, result.Window = high.Replicas, high, b.Down.Stabilization
	}
	if result.Replicas == w.Replicas {
		return Stabilized{Replicas: w.Replicas}
	}
	if result.Replicas == w.Current {
		// Neither bound changed the count: use the one that the proposal would cross.
		result.By, result.Window = low, b.Up.Stabilization
		if w.Replicas < w.Current {
			result.By, result.Window = high, b.Down.Stabilization
		}
	}
	result.Reason = ScaleUpStabilized
	if w.Replicas < w.Current {
		result.Reason = ScaleDownStabilized
	}
	result.IsDisabled = b.Rules(result.Reason == ScaleUpStabilized).Select == SelectDisabled
	return result
}

func younger(cutoff time.Time) func(time.Time) bool {
	return func(t time.Time) bool { return t.After(cutoff) }
}

// unless returns the entry that was found or, without one, the proposal itself.
func (w Proposed) unless(entry history.Recommendation, found bool) history.Recommendation {
	if found {
		return entry
	}
	return history.Recommendation{Time: w.Now, Replicas: w.Replicas}
}
