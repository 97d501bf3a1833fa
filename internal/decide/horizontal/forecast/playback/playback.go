// Package playback plays each minute of load again: with the counts that metrics alone ask for, and with those of
// several candidate forecasts. It shows what each candidate avoids and wastes, before one is used and while it is.
//
// It knows means of minutes. A sample shows a change of load some seconds late, and a forecast that was learnt from
// such samples is as late: so both change the replica count at the same second of a minute.
package playback

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

// Candidates is the number of forecasts that are played side by side.
const Candidates = 15

const (
	// scalers are the metrics alone, and each forecast.
	scalers = Candidates + 1
	// defaultWindow is the number of minutes for which the highest count is kept: the default stabilization window of
	// scaling down.
	defaultWindow = 5
	// buckets hold the proposals within the window. For a longer window, each holds several minutes.
	buckets = 5
	// span is the number of minutes for which counts are kept.
	span = 16
	// Longest is the longest start-up time that the playback supports.
	Longest = (span - 2) * time.Minute
	// delay is the time in a minute, in seconds, at which the count follows its load; step is the resolution of the
	// playback.
	delay, step = 20, 10
	// halfLife is the number of minutes after which a tally counts half.
	halfLife = 3 * 24 * 60
	// mostMinutes bounds the number of minutes in a checkpoint: a hundred thousand years.
	mostMinutes = 1 << 36
)

// keep is the factor by which a tally decays in a minute.
var keep = math.Exp2(-1.0 / halfLife)

// Minute is the load of a minute and the conditions in it.
type Minute struct {
	// Load is in pods at the target. A pod can carry Full times its target.
	Load, Full float64
	// StartUp is how long a pod takes to become ready.
	StartUp time.Duration
	// Tolerance is the largest deviation of the load from the load that the count serves at the target, as a fraction,
	// that causes no change.
	Tolerance                float64
	MinReplicas, MaxReplicas int32
	// Down are the rules of scaling down; nil is a window of five minutes, and any rate.
	Down *behavior.Rules
}

// Tally has sums in pod-minutes. Those of a Scaler decay with a half-life of three days.
type Tally struct {
	// Lacking pods were needed while the ready ones could not carry the load. Paid are all, Spare those beyond what the
	// load needs.
	Lacking, Paid, Spare float64
}

// Add adds a part of a minute. Playback and simulations share it, so that their numbers mean the same.
func (t *Tally) Add(minutes float64, isShort bool, need, ready, paid int32) {
	if isShort {
		t.Lacking += minutes * float64(need-ready)
	}
	t.Paid += minutes * float64(paid)
	t.Spare += minutes * float64(max(0, paid-need))
}

// Against compares a way to scale with another one on the same load: how much less it lacks, and how much more it has
// to spare. Random fluctuations add as much to one as to the other, and cancel out.
func (t *Tally) Against(without *Tally) (avoided, wasted float64) {
	return without.Lacking - t.Lacking, t.Spare - without.Spare
}

// Scaler is the playback of one way to scale: without a forecast, or with one candidate.
type Scaler struct {
	Tally
	// Counts has the counts of the last minutes, and Asked the metrics' proposals in the stabilization window.
	Counts [span]int32
	Asked  [buckets]int32
	// Floor is the least count in the next minute.
	Floor int32
}

// State is the state of the playback, a value of fixed size. Scalers[0] is without a forecast.
type State struct {
	Scalers [scalers]Scaler
	// Minutes is the number of minutes played, and Weight the same with decay.
	Minutes int64
	Weight  float64
}

// Play plays a minute, and returns what was counted in it, without a forecast and then with each.
func (s *State) Play(in *Minute) (counted [scalers]Tally) {
	need := whole(in.Load)
	for i := range s.Scalers {
		l := &s.Scalers[i]
		if s.Minutes == 0 {
			l.begin(in.bounded(need))
		}
		l.play(s.Minutes, in)
	}
	for i := range s.Scalers {
		l := &s.Scalers[i]
		counted[i] = s.count(l, in, need)
		l.Lacking = l.Lacking*keep + counted[i].Lacking
		l.Paid = l.Paid*keep + counted[i].Paid
		l.Spare = l.Spare*keep + counted[i].Spare
	}
	s.Minutes++
	s.Weight = s.Weight*keep + 1
	return counted
}

// SetFloor sets the count that a forecast asks for from the next minute on.
func (s *State) SetFloor(candidate int, replicas int32) { s.Scalers[1+candidate].Floor = replicas }

// Without returns the tally of the metrics alone, With that of a forecast.
func (s *State) Without() *Tally { return &s.Scalers[0].Tally }

// With returns the tally with a forecast.
func (s *State) With(candidate int) *Tally { return &s.Scalers[1+candidate].Tally }

// IsValid reports whether the state can be used: it may come from an untrusted checkpoint.
func (s *State) IsValid() bool {
	isFine := func(v float64) bool { return v >= 0 && v <= math.MaxInt32*Longest.Minutes()*halfLife }
	for i := range s.Scalers {
		l := &s.Scalers[i]
		if !isFine(l.Lacking) || !isFine(l.Paid) || !isFine(l.Spare) || l.Floor < 0 {
			return false
		}
		for _, c := range l.Counts {
			if c < 0 {
				return false
			}
		}
		for _, c := range l.Asked {
			if c < 0 {
				return false
			}
		}
	}
	return s.Minutes >= 0 && s.Minutes <= mostMinutes && isFine(s.Weight)
}

// count returns the tally of a scaler in a minute.
func (s *State) count(l *Scaler, in *Minute, need int32) (minute Tally) {
	const part = step / 60.0
	startUp := int64(min(in.StartUp, Longest) / time.Second)
	for second := int64(step / 2); second < 60; second += step {
		at := s.Minutes*60 + second - delay
		ready := l.least(at-startUp, at)
		minute.Add(part, in.Load > float64(ready)*in.Full*(1+1e-9), need, ready, l.at(at))
	}
	return minute
}

// begin fills the past with the present count.
func (l *Scaler) begin(count int32) {
	for i := range l.Counts {
		l.Counts[i] = count
	}
}

// play sets the count of a minute.
func (l *Scaler) play(minute int64, in *Minute) {
	before := l.Counts[(minute+span-1)%span]
	count := l.react(minute, in, before)
	count = max(count, Floor(min(l.Floor, in.MaxReplicas), before, count, in.Tolerance))
	if count > before {
		// New pods have no samples. Metrics assume that they are busy, and propose the current count.
		l.remember(minute, in, count)
	}
	l.Counts[minute%span] = count
}

// Floor returns the count that a forecast asks for beyond what stabilization makes of the metrics; 0 if it asks for
// none.
//
// A forecast changes a little each minute. If it asks for one replica less than the current count, or for less within
// the tolerance, the count stays: otherwise a pod would be removed and added every minute.
func Floor(asked, current, stabilized int32, tolerance float64) int32 {
	if asked <= stabilized {
		return 0
	}
	if less := current - asked; less > 0 && float64(less) <= max(1, tolerance*float64(current)) {
		return current
	}
	return asked
}

// react returns the count that metrics lead to, without the rate policies of scaling up.
func (l *Scaler) react(minute int64, in *Minute, before int32) int32 {
	asked := in.Wanted(in.Load, before)
	if _, each := in.window(); minute%each == 0 {
		l.Asked[minute/each%buckets] = 0
	}
	l.remember(minute, in, asked)
	return max(asked, min(before, max(l.most(minute, in), before-in.fall(minute, before))))
}

// Wanted returns the count that metrics propose for a load while there is a count: the same within the tolerance.
func (m *Minute) Wanted(load float64, count int32) int32 {
	if beside := load - float64(count); math.Abs(beside) > m.Tolerance*float64(count) {
		count = whole(load)
	}
	return m.bounded(count)
}

// remember records what metrics ask for in a minute.
func (l *Scaler) remember(minute int64, in *Minute, asked int32) {
	_, each := in.window()
	bucket := &l.Asked[minute/each%buckets]
	*bucket = max(*bucket, asked)
}

// most returns the most that metrics have asked for in the stabilization window.
func (l *Scaler) most(minute int64, in *Minute) (most int32) {
	minutes, each := in.window()
	for k := range min(minutes, buckets) {
		most = max(most, l.Asked[(minute/each+buckets-k)%buckets])
	}
	return most
}

// window returns how many minutes the stabilization window of scaling down has, the present one included, and how many
// of them there are in a bucket.
func (m *Minute) window() (minutes, each int64) {
	minutes = defaultWindow
	if m.Down != nil {
		minutes = max(1, int64((m.Down.Stabilization+time.Minute-1)/time.Minute))
	}
	return minutes, (minutes + buckets - 1) / buckets
}

// fall returns the number of replicas by which the rate policies of scaling down let a count fall in a minute. If that
// is less than a pod, the count falls by one every few minutes.
func (m *Minute) fall(minute int64, count int32) int32 {
	switch {
	case m.Down == nil || len(m.Down.Policies) == 0:
		return count
	case m.Down.Select == behavior.SelectDisabled:
		return 0
	}
	var chosen float64
	for i, policy := range m.Down.Policies {
		change := float64(policy.Value)
		if policy.Type == behavior.RatePercent {
			change = math.Ceil(float64(count) * change / 100)
		}
		rate := change / max(1, policy.Period.Minutes())
		if m.Down.Select == behavior.SelectMax {
			chosen = max(chosen, rate)
		} else if chosen = min(chosen, rate); i == 0 {
			chosen = rate
		}
	}
	if chosen > 0 && chosen < 1 {
		if minute%int64(math.Ceil(1/chosen)) != 0 {
			return 0
		}
		return 1
	}
	return int32(min(chosen, math.MaxInt32))
}

func (l *Scaler) at(second int64) int32 { return l.Counts[minuteOf(second)%span] }

// least returns the smallest count from a second to another.
func (l *Scaler) least(from, to int64) int32 {
	least := int32(math.MaxInt32)
	for minute := minuteOf(from); minute <= minuteOf(to); minute++ {
		least = min(least, l.Counts[minute%span])
	}
	return least
}

// minuteOf returns a second's minute, moved by a whole span so that it is not negative.
func minuteOf(second int64) int64 { return (second + span*60) / 60 }

func (m *Minute) bounded(count int32) int32 { return max(m.MinReplicas, min(m.MaxReplicas, count)) }

// whole returns how many pods carry a load at the target.
func whole(load float64) int32 { return int32(min(math.MaxInt32, math.Ceil(load-1e-9))) }
