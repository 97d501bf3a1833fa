package horizontal

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// StateBefore returns the state before the step: its own, or else the previous step's.
func (s *Step) StateBefore(previous horizontal.State, set divergence.Set) horizontal.State {
	switch {
	case s.Snapshot.State != nil:
		return s.Snapshot.State.Clone()
	case s.Snapshot.History != nil:
		return s.Snapshot.History.state(set)
	default:
		return previous
	}
}

func (h *History) state(set divergence.Set) horizontal.State {
	state := horizontal.State{Version: horizontal.StateVersion}
	recommendations := slices.Clone(h.Recommendations)
	slices.SortStableFunc(recommendations, func(a, b Recommendation) int { return a.Time.Compare(b.Time) })
	for _, r := range recommendations {
		behavior.Remember(&state.Recommendations, set, history.Recommendation{Time: r.Time, Replicas: r.Replicas},
			time.Time{})
	}
	for _, e := range h.ScaleEvents {
		if c := &state.Count; e.Time.After(c.ChangedAt) {
			*c = history.Count{ChangedAt: e.Time, EffectiveAt: e.Time, IsLowered: e.Change < 0}
		}
		if e.Change > 0 {
			state.ScaleUps = append(state.ScaleUps, history.Change{Time: e.Time, Replicas: e.Change})
		} else {
			state.ScaleDowns = append(state.ScaleDowns, history.Change{Time: e.Time, Replicas: -e.Change})
		}
	}
	return state
}
