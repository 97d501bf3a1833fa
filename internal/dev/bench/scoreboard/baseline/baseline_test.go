package baseline

import (
	"math"
	"slices"
	"testing"
)

// feed plays a load of so many minutes, and returns what was expected at each end of a minute.
func feed(t *testing.T, name string, ahead, minutes int, load func(minute int) float64) []float64 {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no forecast is named %q", name)
	}
	f := kinds[i].New(ahead)
	expected := make([]float64, minutes)
	for i := range expected {
		expected[i] = f.Next(load(i))
	}
	return expected
}

// nine is 2 pods, and 10 from nine to ten o'clock each day.
func nine(minute int) float64 {
	if m := minute % minutesOfDay; m >= 9*60 && m < 10*60 {
		return 10
	}
	return 2
}

// TestJumpThatRecurs: at the end of minute 8:57, the forecast for the three minutes 8:58, 8:59 and 9:00 is the first to
// have the jump of 9:00. It has gone at 10:00.
func TestJumpThatRecurs(t *testing.T) {
	for name, want := range map[string]struct {
		days     int
		jump     float64
		accurate float64
	}{
		"yesterday":      {1, 10, 1e-9},
		"yesterday-0.8":  {1, 8, 1e-9},
		"last-week":      {7, 10, 1e-9},
		"quantile":       {1, 10, 1e-9},
		"crane-maxvalue": {3, 11, 1e-9},
		"crane-fft":      {3, 10, 2},
	} {
		got := feed(t, name, 3, (want.days+1)*minutesOfDay, nine)
		today := got[want.days*minutesOfDay:]
		if name != "crane-fft" {
			if before := today[8*60+56]; before > 2.2+1e-9 {
				t.Errorf("%s: %v before the jump is in sight", name, before)
			}
			if after := today[10*60-1]; after > 2.2+1e-9 {
				t.Errorf("%s: %v when it has gone", name, after)
			}
		}
		if jump := today[8*60+57]; math.Abs(jump-want.jump) > want.accurate && name != "crane-fft" {
			t.Errorf("%s: %v at the jump, want %v", name, jump, want.jump)
		}
		if jump := today[9*60+29]; math.Abs(jump-want.jump) > want.accurate {
			t.Errorf("%s: %v in the middle of the hour, want %v", name, jump, want.jump)
		}
		if first := got[want.days*minutesOfDay-2]; first != 0 {
			t.Errorf("%s: %v with too little known", name, first)
		}
	}
}

// TestQuantile: of seven days, the 80 % quantile is the sixth in order.
func TestQuantile(t *testing.T) {
	got := feed(t, "quantile", 1, 7*minutesOfDay, func(minute int) float64 { return float64(minute / minutesOfDay) })
	if last := got[len(got)-1]; last != 5 {
		t.Errorf("%v of the days 0 to 6, want 5", last)
	}
}

// TestRecent: what follows from the last ten minutes alone.
func TestRecent(t *testing.T) {
	rise := func(minute int) float64 { return 5 + 2*float64(minute) }
	if got := feed(t, "persistence", 4, 30, rise); got[29] != rise(29) || got[0] != rise(0) {
		t.Errorf("persistence: %v, want %v", got[29], rise(29))
	}
	fall := func(minute int) float64 { return 100 - 2*float64(minute) }
	if got := feed(t, "persistence", 4, 30, fall); got[29] != fall(20) {
		t.Errorf("persistence: %v, want %v of ten minutes ago", got[29], fall(20))
	}
	if got := feed(t, "trend", 4, 30, rise); math.Abs(got[29]-rise(33)) > 1e-9 || got[8] != 0 {
		t.Errorf("trend: %v, want %v in four minutes", got[29], rise(33))
	}
	if got := feed(t, "trend", 4, 30, fall); math.Abs(got[29]-fall(30)) > 1e-9 {
		t.Errorf("trend: %v, want %v of the next minute", got[29], fall(30))
	}
	if got := feed(t, "trend", 4, 60, fall); got[59] != 0 {
		t.Errorf("trend: %v below 0", got[59])
	}
}

// TestOutliers: Crane leaves out what is in less than a thousandth of the minutes.
func TestOutliers(t *testing.T) {
	spike := func(minute int) float64 {
		if minute == minutesOfDay+500 {
			return 1000
		}
		return 4
	}
	got := feed(t, "crane-maxvalue", 1, 3*minutesOfDay+600, spike)
	for _, v := range got[3*minutesOfDay:] {
		if math.Abs(v-4.4) > 1e-9 {
			t.Fatalf("%v expected, want 4.4", v)
		}
	}
}

// TestSpectrum: a slow wave comes through unchanged but for the margin; a weak fast one among stronger ones does not.
func TestSpectrum(t *testing.T) {
	wave := func(i int, perDay float64) float64 { return math.Sin(2 * math.Pi * perDay * float64(i) / minutesOfDay) }
	days := make([]float64, craneDays*minutesOfDay)
	for i := range days {
		days[i] = 20 + 5*wave(i, 1) + 0.001*wave(i, 700)
		// With the slow one, as many strong waves as are kept.
		for k := range spectrumItems - 1 {
			days[i] += 0.01 * wave(i, float64(100+3*k))
		}
	}
	day := newSpectrum()(days)
	for i := range day {
		want := days[len(days)-minutesOfDay+i] - 0.001*wave(i, 700)
		if math.Abs(day[i]/(1+spectrumMargin)-want) > 1e-6 {
			t.Fatalf("minute %d: %v, want %v", i, day[i], want)
		}
	}
}

// TestPercentile: a hundredth of the weight is left out, and yesterday weighs twice as much as the day before.
func TestPercentile(t *testing.T) {
	level := func(load func(minute int) float64) float64 {
		got := feed(t, "crane-percentile", 1, 2*minutesOfDay, load)
		return got[len(got)-1] / (1 + percentileMargin)
	}
	// 40 of the 2,880 minutes, on the first day: about 1.4 % of the minutes, but 0.95 % of the weight.
	for _, test := range []struct {
		day  int
		want float64
	}{{0, 3}, {1, 9}} {
		got := level(func(minute int) float64 {
			if minute >= test.day*minutesOfDay+700 && minute < test.day*minutesOfDay+740 {
				return 9
			}
			return 3
		})
		if math.Abs(got-test.want) > 1e-9 {
			t.Errorf("peak on day %d: %v, want %v", test.day, got, test.want)
		}
	}
}

// TestBounds: what is expected is finite and never below 0, and no less for more minutes ahead.
func TestBounds(t *testing.T) {
	for _, kind := range Kinds() {
		few, more := kind.New(0), kind.New(4)
		for i := range 8 * minutesOfDay {
			load := float64(mix(uint64(i))%1000) / 50
			if i/minutesOfDay == 3 {
				load = 0
			}
			a, b := few.Next(load), more.Next(load)
			if !(a >= 0) || math.IsInf(a, 0) || b < a-1e-9 {
				t.Fatalf("%s, minute %d: %v for one minute, %v for four", kind.Name, i, a, b)
			}
		}
	}
}

// mix is the finaliser of splitmix64: a number that is as good as random.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// TestKinds: each forecast has a name of its own and a source.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for _, kind := range Kinds() {
		if kind.Name == "" || names[kind.Name] || kind.Source == "" {
			t.Errorf("%q, from %q", kind.Name, kind.Source)
		}
		names[kind.Name] = true
	}
}
