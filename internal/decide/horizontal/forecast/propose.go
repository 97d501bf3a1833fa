package forecast

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// scales are the parts of what is expected that may be asked for. The first arms of the playback are these of the
// expectation itself, the next of the expectation with the mean error of its minute on top, the last of what the hours
// expect, where that is more.
var scales = [playback.Arms / 3]float64{0.7, 0.8, 0.9, 1, 1.15}

// peaks are the largest of these expectations until a new pod would be ready.
type peaks [playback.Arms / len(scales)]float64

// leeway is for what comes before the start-up and after it: a decision, a write, the first requests.
const leeway = 10 * time.Second

// doubt is how many times its waste a forecast has to be worth: what is played back is not what will be, and the best
// of several arms was lucky in part. What begins to be used has to be worth doubtToBegin times as much, and to waste no
// more than limitToBegin of the limit: what it wastes before a jump is counted before what it avoids.
const doubt, doubtToBegin, limitToBegin = 1.2, 1.9, 0.8

// propose has each arm ask for what it would, and takes the best if it is worth it. The minute is the last one that is
// over.
func (s *State) propose(settings *Settings, m *playback.Minute, minute int64) Result {
	ahead := minutesAhead(m.StartUp)
	r := Result{
		Reason: ReasonLearning, StartUp: m.StartUp, Horizon: time.Duration(ahead) * time.Minute,
		LearntFor: time.Duration(s.v.Learnt) * time.Minute, Needed: Needed,
	}
	mean, upper, isKnown := s.v.Model.Peaks(minute, ahead)
	all := peaks{mean, upper, max(mean, s.v.Hours.Peak(minute, ahead))}
	largest := min(s.largest(), float64(m.MaxReplicas))
	for arm := range playback.Arms {
		s.v.Played.SetFloor(arm, all.replicas(arm, largest))
	}
	if !isKnown || s.v.Learnt < needed {
		s.v.IsInUse = false
		return r
	}
	var arm int
	arm, r.Reason = s.choose(settings)
	r.Scale, r.Expected, r.Day = scales[arm%len(scales)], all.of(arm), s.day(arm)
	if s.v.IsInUse = r.Reason == ReasonInUse; s.v.IsInUse {
		r.Replicas = all.replicas(arm, largest)
	}
	return r
}

// minutesAhead is for how many minutes what is asked for now has to last: until the pods are ready that are asked for a
// minute from now.
func minutesAhead(startUp time.Duration) int {
	return 2 + int((min(startUp, playback.Longest)+Lag+leeway)/time.Minute)
}

// choose is the arm with the largest gain of those that are worth it, or of all if none is.
func (s *State) choose(settings *Settings) (best int, reason Reason) {
	without, gain := s.v.Played.Without(), math.Inf(-1)
	factor, limit := doubt, settings.WasteLimitPercent/100*without.Paid
	if !s.v.IsInUse {
		factor, limit = doubtToBegin, limitToBegin*limit
	}
	reason = ReasonNotWorthItsPrice
	for arm := range playback.Arms {
		with := s.v.Played.With(arm)
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
			best, reason, gain = arm, its, worth-wasted
		}
	}
	return best, reason
}

func (s *State) day(arm int) Day {
	without, with := s.v.Played.Without(), s.v.Played.With(arm)
	avoided, wasted := with.Against(without)
	perDay := 24 * 60 / max(1, s.v.Played.Weight)
	return Day{
		LackingPodMinutes: perDay * without.Lacking, AvoidedPodMinutes: perDay * avoided,
		WastedPodMinutes: perDay * wasted, PodMinutes: perDay * without.Paid,
	}
}

// largest is the largest load of the last days: no forecast asks for more.
func (s *State) largest() (most float64) {
	for _, load := range s.v.Largest {
		most = max(most, load)
	}
	return most
}

func (p *peaks) of(arm int) float64 { return p[arm/len(scales)] }

// replicas is what an arm asks for, no more than for the largest load there was.
func (p *peaks) replicas(arm int, largest float64) int32 {
	wanted := min(scales[arm%len(scales)]*p.of(arm), largest)
	return int32(max(0, math.Ceil(wanted-1e-9)))
}
