package forecast

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/season"
)

const (
	// Needed is the length of the load that the forecast learns before it is used: a day for the season, and six hours of
	// playback.
	Needed = 30 * time.Hour
	// needed are its minutes.
	needed = int64(Needed / time.Minute)
	// longestGap is the number of minutes without a load after which learning starts over.
	longestGap = 24 * 60
	// defaultStartUp applies until a pod's start-up was observed, and defaultFull if it is unknown how much load a pod can
	// carry.
	defaultStartUp, defaultFull = 30 * time.Second, 1.25
	// Lag is the time by which a decision observes the load late: kubelets' samples are some seconds old, and averaged
	// over more seconds. A minute ends that much later.
	Lag = 20 * time.Second
	// longestCapped is the number of minutes for which the forecast remembers that the load may have been larger.
	longestCapped = 15
	// sameTarget is the largest relative difference between two targets of a pod that count as the same.
	sameTarget = 0.005
	// mostLoad bounds the learnt loads. The replica count has 31 bits.
	mostLoad = math.MaxInt32
	// days is the number of days, including the present one, whose largest loads are kept.
	days = 8
)

// State is the learnt state. It is a value of fixed size behind a pointer.
type State struct {
	// v has the fields that are saved.
	v saved
	// result is that of the last whole minute; its Reason is ReasonOff before the first one.
	result Result
}

// saved has the fields of a State in the order of their encoding.
type saved struct {
	// Minute is the present one, in minutes of the Unix epoch; 0 before the first. At is the last observation in it, in
	// nanoseconds of the epoch, 0 if the load was unknown then.
	Minute, At int64
	// Sum is the load times seconds in the present minute, and Seconds the number of seconds with a known load.
	Sum, Seconds float64
	// Learnt is the number of learnt minutes.
	Learnt int64
	// LearntLast is the last learnt minute.
	LearntLast int64
	// Identity is that of Settings.
	Identity uint64
	// PerPodMilli is the target of a pod to which the loads refer.
	PerPodMilli float64
	// Day is the day of the last of Largest, in days of the epoch.
	Day int64
	// Largest are the largest loads of the last days.
	Largest [days]float64
	// IsCapped is set if the load may have been larger at some moment of the present minute. CappedMinutes is the number
	// of such minutes just before.
	IsCapped      bool
	CappedMinutes uint8
	// IsInUse is set if the forecast was worth its price in the last minute.
	IsInUse bool
	Model   season.Model
	Played  playback.State
	Hours   season.Hours
}

// New returns a state that knows nothing.
func New() *State { return &State{} }

// Clone returns a copy that shares nothing with it.
func (s *State) Clone() *State {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}

// After reports whether it has learnt more recent minutes than another state.
func (s *State) After(other *State) bool { return s.v.Minute > other.v.Minute }

// KnowsMore reports whether it has learnt more minutes than another state, which may be nil.
func (s *State) KnowsMore(other *State) bool { return other == nil || s.v.Learnt > other.v.Learnt }

// IsLearning reports whether it has learnt too little with these settings to be used. It is true for nil.
func (s *State) IsLearning(settings *Settings) bool {
	return s == nil || s.v.Learnt < needed || settings.Identity != 0 && settings.Identity != s.v.Identity
}

// Expectation is the expected load of a minute, in pods at the target: Mean, and Upper, which adds the mean error of
// that minute of the day.
type Expectation struct {
	At          time.Time
	Mean, Upper float64
}

// Curve returns the expectations of the minutes from the present one up to a time, a day at most. It returns none while
// the forecast learns, and omits minutes of the day of which it has learnt nothing.
func (s *State) Curve(to time.Time) []Expectation {
	if s == nil || s.v.Learnt < needed {
		return nil
	}
	last := s.v.Minute - 1
	var all []Expectation
	s.v.Model.Curve(last, int(max(0, min(to.Unix()/60-last, season.Minutes))), func(minute int64, mean, upper float64) {
		all = append(all, Expectation{At: time.Unix(minute*60, 0).UTC(), Mean: mean, Upper: upper})
	})
	return all
}

// Observe records an observation. It computes the forecast once a minute.
func (s *State) Observe(settings *Settings, in *Input) Result {
	if settings.Mode == Off {
		return Result{}
	}
	if settings.Identity != 0 && settings.Identity != s.v.Identity {
		if s.v.Identity != 0 {
			*s = State{}
		}
		s.v.Identity = settings.Identity
	}
	minute := in.Now.Add(-Lag).Unix() / 60
	switch passed := minute - s.v.Minute; {
	case s.v.Minute == 0:
		s.v.Minute = minute
	case passed < 0:
		// The clock went back, or the last one was ahead. The model depends on the time of day only, so it stays.
		s.begin(minute)
		s.v.At = 0
	case passed > 0:
		s.finish(settings, in, passed)
		s.begin(minute)
	}
	if s.result.Reason == ReasonOff {
		m := Minute(settings, in)
		s.result = s.propose(settings, &m, s.v.Minute-1)
	}
	s.add(in)
	r := s.result
	r.Replicas = min(r.Replicas, max(0, in.MaxReplicas))
	return r
}

func (s *State) begin(minute int64) {
	s.v.Minute, s.v.Sum, s.v.Seconds, s.v.IsCapped = minute, 0, 0, false
}

// add adds the load since the last observation, if it was known then and is now.
func (s *State) add(in *Input) {
	load, before := &in.Load, s.v.At
	s.v.At = 0
	if !load.IsKnown || !(load.Pods >= 0 && load.Pods <= mostLoad) {
		return
	}
	s.rescale(load.PerPodMilli)
	s.v.At = in.Now.UnixNano()
	if seconds := time.Duration(s.v.At - before).Seconds(); before > 0 && seconds > 0 && seconds <= 60 {
		s.v.Sum += load.Pods * seconds
		s.v.Seconds += seconds
		s.v.IsCapped = s.v.IsCapped || load.IsCapped
	}
}

// rescale converts the loads after a change of a pod's target: the same load is then another number of pods.
func (s *State) rescale(perPodMilli float64) {
	before := s.v.PerPodMilli
	if !(perPodMilli > 0) || math.IsInf(perPodMilli, 0) {
		return
	}
	factor := before / perPodMilli
	if before > 0 && math.Abs(factor-1) <= sameTarget {
		return
	}
	s.v.PerPodMilli = perPodMilli
	if !(factor > 1e-6 && factor < 1e6) {
		return
	}
	s.v.Sum *= factor
	s.v.Model.Scale(factor)
	s.v.Hours.Scale(factor)
	for i := range s.v.Largest {
		s.v.Largest[i] *= factor
	}
}

// finish learns the minute that has ended, and computes the forecast for the next ones.
func (s *State) finish(settings *Settings, in *Input, passed int64) {
	if s.v.Seconds == 0 || passed > 1 {
		s.v.Model.Skip(passed)
		s.v.CappedMinutes = 0
	}
	m := Minute(settings, in)
	if s.v.Seconds > 0 {
		m.Load = s.v.Sum / s.v.Seconds
		s.learn(&m)
	}
	s.result = s.propose(settings, &m, s.v.Minute+passed-1)
	if s.result.Reason > ReasonLearning && s.v.Seconds == 0 {
		s.result.Reason, s.result.Replicas = ReasonLoadUnknown, 0
	}
}

// Minute returns the conditions of a minute for the playback, without its load.
func Minute(settings *Settings, in *Input) playback.Minute {
	m := playback.Minute{
		Full: in.Load.Full, StartUp: in.StartUp, Tolerance: in.Tolerance,
		MinReplicas: in.MinReplicas, MaxReplicas: in.MaxReplicas, Down: settings.Down,
	}
	if !(m.Full >= 1) {
		m.Full = defaultFull
	}
	if m.StartUp <= 0 {
		m.StartUp = defaultStartUp
	}
	return m
}

// learn feeds a minute to the playback and the model.
func (s *State) learn(m *playback.Minute) {
	minute, load := s.v.Minute, m.Load
	if s.v.IsCapped {
		// Use the expectation if it is larger: the pods could not use more than they did.
		m.Load = max(load, s.v.Model.Expected(minute))
	}
	if minute-s.v.LearntLast > longestGap {
		s.v.Learnt = 0
	}
	s.v.LearntLast = minute
	s.v.Played.Play(m)
	s.v.Model.Learn(minute, load, s.v.IsCapped)
	s.v.Hours.Learn(minute, load, s.v.IsCapped)
	s.v.Learnt++
	if s.v.IsCapped {
		s.v.CappedMinutes = min(s.v.CappedMinutes+1, longestCapped)
	} else {
		// There are enough pods now, so the load shows what it has been since there were too few.
		for ; s.v.CappedMinutes > 0; s.v.CappedMinutes-- {
			s.v.Model.Raise(minute-int64(s.v.CappedMinutes), load, s.v.Learnt <= season.Minutes)
		}
	}
	s.remember(load)
}

// remember keeps the largest load of each of the last days.
func (s *State) remember(load float64) {
	for today := s.v.Minute / season.Minutes; s.v.Day != today; {
		if gone := today - s.v.Day; gone < 0 || gone > days {
			s.v.Day, s.v.Largest = today, [days]float64{}
			break
		}
		s.v.Day++
		s.v.Largest[s.v.Day%days] = 0
	}
	largest := &s.v.Largest[s.v.Day%days]
	*largest = max(*largest, load)
}
