package forecast

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// scales are the parts of the expected load that a candidate may propose. The first third of the candidates scales the
// expectation itself, the next the expectation plus the mean error of its minute, the last what the hours expect, where
// that is more.
var scales = [playback.Candidates / 3]float64{0.7, 0.8, 0.9, 1, 1.15}

// peaks are the largest of these expectations until a new pod would be ready.
type peaks [playback.Candidates / len(scales)]float64

// leeway is the time for a decision, a write and the first requests, in addition to the start-up.
const leeway = 10 * time.Second

// A forecast in use must avoid worthToKeep times its waste: the past differs from the future, and the best of several
// candidates was partly lucky. A new one must avoid worthToBegin times its waste, and waste no more than limitToBegin
// of the limit: its waste before a jump is counted earlier than what it avoids.
const worthToKeep, worthToBegin, limitToBegin = 1.2, 1.9, 0.8

// propose sets the proposal of each candidate, and returns the best one if it is worth its waste. minute is the last
// complete one.
func (s *State) propose(settings *Settings, m *playback.Minute, minute int64) Result {
	ahead := minutesAhead(m.StartUp)
	r := Result{
		Reason: ReasonLearning, StartUp: m.StartUp, Horizon: time.Duration(ahead) * time.Minute,
		LearntFor: time.Duration(s.v.Learnt) * time.Minute, Needed: Needed,
	}
	mean, upper, ok := s.v.Model.Peaks(minute, ahead)
	all := peaks{mean, upper, max(mean, s.v.Hours.Peak(minute, ahead))}
	largest := min(s.largest(), float64(m.MaxReplicas))
	for candidate := range playback.Candidates {
		s.v.Played.SetFloor(candidate, all.replicas(candidate, largest))
	}
	if !ok || s.v.Learnt < needed {
		s.v.IsInUse = false
		return r
	}
	var candidate int
	candidate, r.Reason = s.choose(settings)
	r.Scale, r.Expected, r.Day = scales[candidate%len(scales)], all.of(candidate), s.day(candidate)
	if s.v.IsInUse = r.Reason == ReasonInUse; s.v.IsInUse {
		r.Replicas = all.replicas(candidate, largest)
	}
	return r
}

// minutesAhead returns the number of minutes that a proposal must cover: until the pods of the next proposal, a minute
// from now, are ready.
func minutesAhead(startUp time.Duration) int {
	return 2 + int((min(startUp, playback.Longest)+Lag+leeway)/time.Minute)
}

// choose returns the candidate with the largest gain of those that are worth it, or of all if none is.
func (s *State) choose(settings *Settings) (best int, reason Reason) {
	without, gain := s.v.Played.Without(), math.Inf(-1)
	factor, limit := worthToKeep, settings.WasteLimitPercent/100*without.Paid
	if !s.v.IsInUse {
		factor, limit = worthToBegin, limitToBegin*limit
	}
	reason = ReasonNotWorthItsPrice
	for candidate := range playback.Candidates {
		with := s.v.Played.With(candidate)
		avoided, wasted := with.Against(without)
		worth := settings.Price * avoided
		its := ReasonInUse
		switch {
		case worth <= factor*wasted:
			its = ReasonNotWorthItsPrice
		case wasted > limit:
			its = ReasonAboveWasteLimit
		}
		if its > reason || its == reason && worth-wasted > gain {
			best, reason, gain = candidate, its, worth-wasted
		}
	}
	return best, reason
}

func (s *State) day(candidate int) Day {
	without, with := s.v.Played.Without(), s.v.Played.With(candidate)
	avoided, wasted := with.Against(without)
	perDay := 24 * 60 / max(1, s.v.Played.Weight)
	return Day{
		LackingPodMinutes: perDay * without.Lacking, AvoidedPodMinutes: perDay * avoided,
		WastedPodMinutes: perDay * wasted, PodMinutes: perDay * without.Paid,
	}
}

// largest returns the largest load of the last days: no forecast asks for more.
func (s *State) largest() (most float64) {
	for _, load := range s.v.Largest {
		most = max(most, load)
	}
	return most
}

func (p *peaks) of(candidate int) float64 { return p[candidate/len(scales)] }

// replicas returns what a candidate proposes: no more than the largest load so far needs.
func (p *peaks) replicas(candidate int, largest float64) int32 {
	wanted := min(scales[candidate%len(scales)]*p.of(candidate), largest)
	return int32(max(0, math.Ceil(wanted-1e-9)))
}
