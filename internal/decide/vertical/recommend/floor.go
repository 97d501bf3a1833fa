package recommend

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// floorFor is the time for which the recommendation from before a loss of history is a floor: a day includes the busy
// hours.
const floorFor = 24 * time.Hour

// noCheckpoint is the damage of a container that has a recommendation and no checkpoint.
const noCheckpoint = "there is no checkpoint of it"

// Resume returns the State of a new process, after it has read the object's history. The status is a floor if its
// recommendation has no history, or if it reports itself that history was lost, as an earlier process found.
func (s State) Resume(p *Policy, now time.Time, published *status.Published) State {
	if !p.Has(divergence.LittleHistory) || published == nil {
		return s
	}
	s.Containers = slices.Clone(s.Containers)
	for _, rec := range published.Recommendations {
		c := s.container(rec.Container)
		if c.Usage.Exists() {
			continue
		}
		c.Damage = cmp.Or(c.Damage, noCheckpoint)
		s.Lost, s.Floor = vertical.StampOf(now), published.Recommendations
	}
	for i := range published.Conditions {
		if c := &published.Conditions[i]; s.Lost.IsZero() && c.Type == DamagedCheckpoint && c.Status == condition.True {
			s.Lost, s.Floor = vertical.StampOf(c.Since), published.Recommendations
		}
	}
	return s
}

func (s *State) keepsFloor(now time.Time) bool {
	return !s.Lost.IsZero() && now.Sub(s.Lost.Time()) < floorFor
}

// raise raises the recommendation to the floor, if the samples span less than a confidence interval.
func (s *State) raise(p *Policy, rec vertical.Recommendation, trace *estimate.Trace) vertical.Recommendation {
	floor, ok := vertical.RecommendationOf(s.Floor, rec.Container)
	if !ok {
		return rec
	}
	var few [vertical.Resources]bool
	for r := range few {
		few[r] = (trace.Controlled[r] || trace.Unmeasured[r]) && trace.Confidence[r] < enough
	}
	rec = bounds.Raise(rec, floor, few)
	return bounds.Policy(rec, vertical.PolicyOf(p.Containers, rec.Container), p.MaxAllowed)
}
