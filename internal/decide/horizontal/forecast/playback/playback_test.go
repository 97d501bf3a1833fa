package playback

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
)

func minute(load float64) *Minute {
	return &Minute{Load: load, Full: 1.25, StartUp: time.Minute, Tolerance: 0.1, MinReplicas: 1, MaxReplicas: 100}
}

// play plays a load that is 4 and then 10, with a floor of a candidate from a minute on.
func play(floor int32, from, to int) *State {
	var s State
	for i := range 20 {
		if s.SetFloor(0, 0); i >= from && i < to {
			s.SetFloor(0, floor)
		}
		load := 4.0
		if i >= 10 {
			load = 10
		}
		s.Play(minute(load))
	}
	return &s
}

func TestJump(t *testing.T) {
	const none = 0
	for _, c := range []struct {
		floor                    int32
		from, to                 int
		lacking, avoided, wasted float64
		why                      string
	}{
		{none, 0, 0, 8, 0, 0, "6 pods lack for 80 s: 20 until the count follows, 60 until they are ready"},
		{10, 8, 12, 8, 8, 6, "asked for at 8:20 and ready at 9:20, before the jump; wasted from 8:20 to 10:00, less what is needed"},
		{10, 9, 12, 8, 6, 4, "ready at 10:20: 6 pods lack for 20 s"},
		{3, 5, 20, 8, 0, 0, "a floor below the metrics' count changes nothing"},
		{10, 0, 5, 8, 0, 27, "a floor at the wrong time wastes 6 pods for four minutes and a half"},
	} {
		s := play(c.floor, c.from, c.to)
		lacking := s.Without().Lacking
		avoided, wasted := s.With(0).Against(s.Without())
		if !near(lacking, c.lacking) || !near(avoided, c.avoided) || !near(wasted, c.wasted) {
			t.Errorf("floor %d from %d to %d: lacking %.1f, avoided %.1f, wasted %.1f, want %v, %v, %v: %s", c.floor, c.from, c.to,
				lacking, avoided, wasted, c.lacking, c.avoided, c.wasted, c.why)
		}
	}
}

// TestDown: what was raised without need is given back as behavior.scaleDown has it.
func TestDown(t *testing.T) {
	pods := func(value int32, period time.Duration) []behavior.RatePolicy {
		return []behavior.RatePolicy{{Type: behavior.RatePods, Value: value, Period: period}}
	}
	for name, c := range map[string]struct {
		down *behavior.Rules
		// want is how many minutes the 16 pods too many of a minute are paid for.
		want float64
	}{
		"by default":             {nil, 16 * 5},
		"the same":               {&behavior.Rules{Stabilization: 5 * time.Minute}, 16 * 5},
		"no window":              {&behavior.Rules{}, 16},
		"a window of 20 minutes": {&behavior.Rules{Stabilization: 20 * time.Minute}, 16 * 20},
		"a pod a minute":         {&behavior.Rules{Policies: pods(1, time.Minute)}, 16 * 17 / 2},
		"a pod in two minutes":   {&behavior.Rules{Policies: pods(1, 2*time.Minute)}, 16 * 17},
		"half in a minute": {&behavior.Rules{Policies: []behavior.RatePolicy{
			{Type: behavior.RatePercent, Value: 50, Period: time.Minute}}}, 16 + 6 + 1},
		"the least of two": {&behavior.Rules{Select: behavior.SelectMin, Policies: append(pods(8, time.Minute),
			pods(1, time.Minute)...)}, 16 * 17 / 2},
		"the most of two": {&behavior.Rules{Policies: append(pods(8, time.Minute), pods(1, time.Minute)...)}, 16 + 8},
		"never":           {&behavior.Rules{Select: behavior.SelectDisabled, Policies: pods(1, time.Minute)}, 16 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			for i := range 80 {
				if s.SetFloor(0, 0); i == 20 {
					s.SetFloor(0, 20)
				}
				m := minute(4)
				m.Down = c.down
				s.Play(m)
			}
			if _, got := s.With(0).Against(s.Without()); got < 0.8*c.want-1 || got > 1.1*c.want+1 {
				t.Errorf("%.1f pod-minutes, want about %v", got, c.want)
			}
		})
	}
}

// TestFloor: a forecast that asks for little less than there are removes no pod, and the playback knows.
func TestFloor(t *testing.T) {
	for _, c := range []struct{ asked, current, stabilized, want int32 }{
		{0, 5, 5, 0}, {5, 5, 5, 0}, {8, 5, 5, 8}, {4, 5, 3, 5}, {3, 5, 2, 3}, {19, 21, 3, 21}, {18, 21, 3, 18}, {4, 5, 4, 0},
	} {
		if got := Floor(c.asked, c.current, c.stabilized, 0.1); got != c.want {
			t.Errorf("%d asked for, %d there, %d by the metrics: %d, want %d", c.asked, c.current, c.stabilized, got, c.want)
		}
	}
	var s State
	for i := range 40 {
		if s.SetFloor(0, 9); i == 0 {
			s.SetFloor(0, 10)
		}
		s.Play(minute(4))
	}
	// 10 of 4 for 39 minutes, as 9 is one less.
	if _, wasted := s.With(0).Against(s.Without()); math.Abs(wasted-6*39) > 6 {
		t.Errorf("%.1f pod-minutes, want %d", wasted, 6*39)
	}
}

// TestAgainst: what one way has by chance at one time and the other at another is no waste.
func TestAgainst(t *testing.T) {
	var without, with Tally
	for i := range 10 {
		without.Add(1, false, 4, 5, 5+int32(i%2))
		with.Add(1, i == 0, 4, 1, 5+int32((i+1)%2))
	}
	if avoided, wasted := with.Against(&without); avoided != -3 || wasted != 0 {
		t.Errorf("avoided %v, wasted %v, want -3 and 0", avoided, wasted)
	}
}

// near allows for the steps of ten seconds and the weight of older minutes.
func near(got, want float64) bool { return math.Abs(got-want) <= 4.1 }

// TestProperties: no floor lacks more than none while it lasts, nothing is negative, and a scaler without floor equals
// the metrics alone. With a tolerance, a count that the floor raised may be kept where a smaller one would have been
// raised above it, so that the floor can pay less, and then lack more.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		floor := rapid.Int32Range(0, 30).Draw(t, "floor")
		tolerance := rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "tolerance")
		startUp := time.Duration(rapid.IntRange(0, 1200).Draw(t, "start-up")) * time.Second
		for range rapid.IntRange(1, 60).Draw(t, "minutes") {
			m := minute(rapid.Float64Range(0, 40).Draw(t, "load"))
			m.StartUp, m.MaxReplicas = startUp, rapid.Int32Range(1, 30).Draw(t, "max")
			m.Tolerance = tolerance
			s.SetFloor(1, floor)
			s.Play(m)
		}
		without, with := s.Without(), s.With(1)
		isLess := with.Lacking > without.Lacking+1e-6 || with.Paid < without.Paid-1e-6
		_, wasted := with.Against(without)
		if tolerance == 0 && (isLess || wasted < -1e-6) || with.Spare < 0 {
			t.Fatalf("without %+v, with %+v", without, with)
		}
		if *s.With(2) != *without {
			t.Fatalf("without a floor %+v, want %+v", s.With(2), without)
		}
		if !s.IsValid() {
			t.Fatal("what was played is not valid")
		}
	})
}
