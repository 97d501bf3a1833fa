package season

import (
	"math"
	"math/rand/v2"
	"testing"
)

// learn teaches a model some days of a load that goes by the minute of the day.
func learn(days int, of func(day, minute int) float64) *Model {
	var m Model
	for day := range days {
		for minute := range Minutes {
			m.Learn(int64(day*Minutes+minute), of(day, minute), false)
		}
	}
	return &m
}

// jump returns 2, and 10 for an hour from noon on.
func jump(_, minute int) float64 {
	if minute >= 720 && minute < 780 {
		return 10
	}
	return 2
}

func TestJumpIsExpected(t *testing.T) {
	m := learn(3, jump)
	for _, c := range []struct {
		minute, ahead int
		want          float64
		why           string
	}{
		{717, 2, 2, "the jump is three minutes away"},
		{717, 3, 10, "the third minute has the jump"},
		{760, 5, 10, "the peak lasts"},
		{785, 5, 2, "it is over"},
	} {
		mean, upper, ok := m.Peaks(int64(3*Minutes+c.minute), c.ahead)
		if !ok || math.Abs(mean-c.want) > 0.1 || upper < mean || upper > mean+0.1 {
			t.Errorf("after minute %d: %v, %v, %v, want %v: %s", c.minute, mean, upper, ok, c.want, c.why)
		}
	}
}

func TestErrorsShowWhatVaries(t *testing.T) {
	m := learn(20, func(day, minute int) float64 {
		return jump(day, minute) * (1 + 0.5*float64(day%2)*float64(minute/720%2))
	})
	mean, upper, _ := m.Peaks(20*Minutes+715, 10)
	if upper-mean < 1.5 || upper-mean > 4 {
		t.Errorf("mean %v, with the error %v; the load at noon is 10 and 15 in turn", mean, upper)
	}
	if mean, upper, _ = m.Peaks(20*Minutes+100, 10); upper-mean > 0.5 {
		t.Errorf("mean %v, with the error %v; the load at night is always 2", mean, upper)
	}
}

func TestLevelFollows(t *testing.T) {
	m := learn(5, jump)
	for minute := range 60 {
		m.Learn(int64(5*Minutes+minute), 0.8, false)
	}
	if mean, _, _ := m.Peaks(5*Minutes+59, 5); math.Abs(mean-0.8) > 0.3 {
		t.Errorf("an hour after the load fell to 0.8, %v is expected", mean)
	}
}

func TestLowerBoundsOnlyRaise(t *testing.T) {
	m := learn(3, jump)
	before, _, _ := m.Peaks(3*Minutes+725, 1)
	m.Learn(3*Minutes+725, 4, true)
	if after, _, _ := m.Peaks(3*Minutes+725, 1); after < before-0.1 {
		t.Errorf("a load of at least 4 lowered what is expected from %v to %v", before, after)
	}
	m.Learn(3*Minutes+726, 30, true)
	if after, _, _ := m.Peaks(3*Minutes+726, 1); after < before+5 {
		t.Errorf("a load of at least 30 is expected to be %v in the next minute", after)
	}
}

func TestUnknownMinutes(t *testing.T) {
	var m Model
	if _, _, ok := m.Peaks(0, 1); ok {
		t.Error("a model that has seen nothing expects something")
	}
	for minute := range int64(100) {
		m.Learn(minute, 5, false)
	}
	if _, _, ok := m.Peaks(90, 20); ok {
		t.Error("a load is expected for minutes without samples")
	}
	if mean, _, ok := m.Peaks(Minutes+10, 20); !ok || math.Abs(mean-5) > 0.1 {
		t.Errorf("%v, %v", mean, ok)
	}
}

// TestRuns: a jump that stopped is given up after the third day, and one of working days is still known on Monday.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		why         string
		days        string
		least, most float64
	}{
		{"every day", "jjjjj", 9.9, 10.1}, {"a day without", "jjjjj.", 8, 9}, {"two days without", "jjjjj..", 6.5, 7.5},
		{"three days without", "jjjjj...", 1.9, 2.1}, {"a day", "....j", 3, 4.5}, {"two days", "....jj", 4, 6},
		{"after a weekend", "jjjjj..jjjjj..", 6.5, 7.5}, {"each second day", "j.j.j.j.j.j.j.", 4, 7.5},
	} {
		m := learn(len(c.days), func(day, minute int) float64 {
			if c.days[day] == '.' {
				return 2
			}
			return jump(day, minute)
		})
		if got := m.Expected(720); got < c.least || got > c.most {
			t.Errorf("%s: %.1f pods are expected at noon, want %v to %v", c.why, got, c.least, c.most)
		}
	}
}

// TestHours: what comes in half of the hours is expected in each by half, and an hour without tells little.
func TestHours(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h Hours
	comes, before, at := false, 0.0, 0.0
	for minute := range int64(20 * Minutes) {
		load := 4.0
		if minute%120 == 95 {
			comes = random.IntN(2) == 0
			before, at = before+h.Peak(minute-6, 5)/240, at+h.Peak(minute-1, 3)/240
		}
		if m := minute % 120; comes && m >= 95 && m < 98 {
			load = 14
		}
		h.Learn(minute, load, false)
	}
	if before < 3.5 || before > 4.5 || at < 7 || at > 11 {
		t.Errorf("in the mean %.1f pods are expected before the jump, and %.1f at it", before, at)
	}
}

// TestRoundingIsSmall compares with the same formulas without rounding, over sizes of loads.
func TestRoundingIsSmall(t *testing.T) {
	for _, size := range []float64{0.01, 1, 300, 5e6} {
		var m Model
		var places [Minutes]float64
		l, usual, most := 0.0, 0.0, 0.0
		for minute := range 4 * Minutes {
			load := size * (2 + 0.15*math.Sin(float64(minute)/200) + 0.1*math.Mod(float64(minute)*0.37, 1))
			i := minute % Minutes
			if minute < Minutes {
				places[i] = load
			} else {
				usual += (l - usual) / Minutes
				l += levelWeight * (load - l - places[i])
				if rest := load - places[i]; math.Abs(rest-usual) < math.Abs(rest-l) {
					places[i] += placeWeight * (rest - usual)
				} else {
					places[i] += placeWeight * (rest - l)
				}
			}
			m.Learn(int64(minute), load, false)
			most = max(most, load)
		}
		for i := range places {
			if got := m.Level + m.season(i); math.Abs(got-l-places[i]) > 0.01*most+firstUnit {
				t.Fatalf("size %v, minute %d: %v, want %v", size, i, got, l+places[i])
			}
		}
	}
}

func TestScale(t *testing.T) {
	m := learn(3, jump)
	mean, upper, _ := m.Peaks(3*Minutes+715, 10)
	m.Scale(0.5)
	if half, halfUpper, _ := m.Peaks(3*Minutes+715, 10); math.Abs(half-mean/2) > 1e-9 || math.Abs(halfUpper-upper/2) > 1e-9 {
		t.Errorf("%v, %v, want half of %v, %v", half, halfUpper, mean, upper)
	}
}
