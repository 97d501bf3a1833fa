package forecast

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// begin is midnight.
var begin = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

var active = Settings{Mode: Active, WasteLimitPercent: DefaultWasteLimitPercent, Price: DefaultPrice}

// feed has a state observe a load every 15 seconds between two minutes, and returns the last result.
func feed(s *State, from, to int, load func(minute int) float64) (r Result) {
	for minute := from; minute < to; minute++ {
		for second := 0; second < 60; second += 15 {
			r = s.Observe(&active, inputAt(minute*60+second, load(minute)))
		}
	}
	return r
}

func inputAt(second int, load float64) *Input {
	return &Input{
		Now: begin.Add(time.Duration(second) * time.Second), Load: Load{Pods: load, PerPodMilli: 500, Full: 1.25, IsKnown: true},
		MinReplicas: 1, MaxReplicas: 50, StartUp: time.Minute, Tolerance: 0.1,
	}
}

// jump returns 10 for an hour from noon on, and 2 at other times.
func jump(minute int) float64 {
	if m := minute % 1440; m >= 720 && m < 780 {
		return 10
	}
	return 2
}

const day = 1440

func TestRaisesBeforeTheJump(t *testing.T) {
	s := New()
	if r := feed(s, 0, day+300, jump); r.Reason != ReasonLearning || r.Replicas != 0 || r.LearntFor < 28*time.Hour {
		t.Errorf("after 29 hours: %+v", r)
	}
	r := feed(s, day+300, 2*day+600, jump)
	if r.Reason != ReasonInUse || r.Replicas > 3 || r.Day.AvoidedPodMinutes < 4 || r.Day.LackingPodMinutes < 5 {
		t.Errorf("two hours before the third jump: %+v", r)
	}
	// The jump is at noon, pods take a minute to start, and the forecast requests them two minutes before it.
	if r = feed(s, 2*day+600, 2*day+719, jump); r.Reason != ReasonInUse || r.Replicas < 7 || r.Replicas > 10 {
		t.Errorf("two minutes before the third jump: %+v", r)
	}
	if r = feed(s, 2*day+719, 2*day+800, jump); r.Replicas > 3 {
		t.Errorf("twenty minutes after the peak: %+v", r)
	}
}

// TestCurve: the forecast of a minute equals the load at that time on the days before.
func TestCurve(t *testing.T) {
	s := New()
	to := begin.Add(2*24*time.Hour + 14*time.Hour)
	feed(s, 0, day, jump)
	if curve := s.Curve(to); curve != nil {
		t.Errorf("after a day, while it learns: %d minutes", len(curve))
	}
	feed(s, day, 2*day+600, jump)
	curve := s.Curve(to)
	// The last decision was at 9:59:45, and its minute ends within 20 s.
	if len(curve) != 242 || !curve[0].At.Equal(begin.Add(2*24*time.Hour+9*time.Hour+59*time.Minute)) {
		t.Fatalf("%d minutes, from %v", len(curve), curve[0].At)
	}
	for _, x := range curve {
		want := jump(int(x.At.Sub(begin) / time.Minute))
		// The minutes of the jump itself vary.
		if m := x.At.Minute(); m > 0 && m < 59 && (math.Abs(x.Mean-want) > 0.3 || x.Upper < x.Mean) {
			t.Errorf("%v: from %v to %v, want %v", x.At, x.Mean, x.Upper, want)
		}
	}
	if curve := s.Curve(begin.AddDate(1, 0, 0)); len(curve) != day {
		t.Errorf("of a year %d minutes, want those of a day", len(curve))
	}
	if curve := s.Curve(begin); curve != nil {
		t.Errorf("of the past: %v", curve)
	}
}

func TestAsksForNothingWhereNothingRecurs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	level := 10.0
	walk := func(int) float64 {
		level = min(40, max(1, level*math.Exp(0.02*random.NormFloat64())))
		return level
	}
	loads := map[string]func(minute int) float64{
		"steady": func(int) float64 { return 7 },
		"noise":  func(int) float64 { return 7 + 2*random.NormFloat64()*0.2 },
		"walk":   walk,
		"slow":   func(minute int) float64 { return 10 + 5*math.Sin(float64(minute)/1440*2*math.Pi) },
	}
	for name, load := range loads {
		s, raised := New(), 0
		for minute := range 7 * day {
			if r := feed(s, minute, minute+1, load); float64(r.Replicas) > math.Ceil(load(minute)) {
				raised++
			}
		}
		if raised > 7*day/100 {
			t.Errorf("%s: raised in %d of %d minutes", name, raised, 7*day)
		}
	}
}

// TestStopsWhenJumpsStop: after three days without the jump the forecast raises no count for it, independent of its
// earlier success, and although another jump continues.
func TestStopsWhenJumpsStop(t *testing.T) {
	evening := func(minute int) float64 { return jump(minute + day - 8*60) }
	quiet := func(int) float64 { return 2 }
	for name, rest := range map[string]func(int) float64{"nothing else": quiet, "another": evening} {
		s := New()
		feed(s, 0, 14*day, func(minute int) float64 { return max(jump(minute), rest(minute)) })
		for minute := 14 * day; minute < 20*day; minute++ {
			r := feed(s, minute, minute+1, rest)
			if m := minute % day; minute >= 17*day && m > 700 && m < 800 && r.Replicas > 2 {
				t.Fatalf("%s: %d replicas in minute %d of day %d without the jump", name, r.Replicas, m, minute/day-13)
			}
		}
	}
}

// TestWasteLimit: the waste stays within the limit, also if each jump is worth its price.
func TestWasteLimit(t *testing.T) {
	for _, limit := range []float64{0.5, 1, 2, 5} {
		settings := active
		settings.WasteLimitPercent = limit
		random, height := rand.New(rand.NewPCG(1, 2)), 0.0
		s, days := New(), [14]struct{ paid, wasted float64 }{}
		var played playback.State
		for minute := range len(days) * day {
			if minute%30 == 20 {
				height = 3 + 6*random.Float64()
			}
			load := 4.0
			if m := minute % 30; m >= 25 && m < 29 {
				load += height
			}
			in := inputAt(minute*60+20, load)
			s.Observe(&settings, in)
			in.Now = in.Now.Add(30 * time.Second)
			played.SetFloor(0, s.Observe(&settings, in).Replicas)
			m := Minute(&settings, in)
			m.Load = load
			counted := played.Play(&m)
			_, wasted := counted[1].Against(&counted[0])
			days[minute/day].paid += counted[0].Paid
			days[minute/day].wasted += wasted
		}
		paid, wasted := 0.0, 0.0
		for _, d := range days {
			paid, wasted = paid+d.paid, wasted+d.wasted
		}
		if percent := 100 * wasted / paid; percent > limit {
			t.Errorf("%.2f %% are wasted with a limit of %v", percent, limit)
		} else {
			t.Logf("%.2f %% are wasted with a limit of %v", percent, limit)
		}
	}
}

func TestMissingLoadIsNotZero(t *testing.T) {
	s := New()
	feed(s, 0, 3*day+719, jump)
	twin := s.Clone()
	var r Result
	for second := (3*day + 719) * 60; second < (3*day+780)*60; second += 20 {
		in := inputAt(second+1, 0)
		in.Load = Load{}
		r = s.Observe(&active, in)
		isAsked := r.Reason == ReasonInUse && r.Replicas >= 7
		if missing := second - (3*day+719)*60; missing <= 20 && !isAsked || missing > 140 && r.Reason != ReasonLoadUnknown {
			t.Fatalf("after %d s without a load: %+v", missing, r)
		}
	}
	if r.Replicas != 0 {
		t.Errorf("while the load is not known: %+v", r)
	}
	feed(s, 3*day+780, 4*day+718, jump)
	if r := feed(s, 4*day+718, 4*day+719, jump); r.Replicas < 7 {
		t.Errorf("the day after an hour without a load: %+v", r)
	}
	if r := feed(twin, 3*day+719, 3*day+720, jump); r.Replicas < 7 {
		t.Errorf("the twin without a gap: %+v", r)
	}
}

// TestGapWithDecisions: a gap in the load's values counts as a gap with and without decisions meanwhile.
func TestGapWithDecisions(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	for minute := 3 * day; minute < 5*day; minute++ {
		in := inputAt(minute*60, 0)
		in.Load = Load{}
		s.Observe(&active, in)
	}
	if r := feed(s, 5*day, 5*day+719, jump); r.Reason != ReasonLearning || r.Replicas != 0 {
		t.Errorf("after two days without a load: %+v", r)
	}
}

// TestAnotherMetric: the forecast of a metric does not use what it learnt from another one.
func TestAnotherMetric(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	other := active
	other.Identity = 7
	s.Observe(&other, inputAt(3*day*60, 2)) // a state without an identity, from an older version, is used
	if r := s.Observe(&other, inputAt((3*day+1)*60+30, 2)); r.Reason != ReasonInUse {
		t.Errorf("%+v", r)
	}
	other.Identity = 8
	in := inputAt((3*day+2)*60, 2)
	in.Load.PerPodMilli = 3
	if r := s.Observe(&other, in); r.Reason != ReasonLearning || r.LearntFor != 0 {
		t.Errorf("%+v", r)
	}
}

// TestSmallStepsOfTheTarget: the forecast follows a target that changes in small steps, as in a rollout of new
// requests.
func TestSmallStepsOfTheTarget(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	perPod := 500.0
	for minute := 3 * day; minute < 3*day+719; minute++ {
		perPod = min(1000, perPod*1.0045)
		for second := 0; second < 60; second += 15 {
			in := inputAt(minute*60+second, jump(minute)*500/perPod)
			in.Load.PerPodMilli = perPod
			s.Observe(&active, in)
		}
	}
	if got := s.v.Model.Expected(3*day + 725 + begin.Unix()/60); math.Abs(got-5) > 0.5 {
		t.Errorf("%.2f pods are expected at noon, want 5 of twice the size", got)
	}
}

// TestNearItsPrice: a forecast whose worth is near its price does not end between the raise and the load.
func TestNearItsPrice(t *testing.T) {
	for price := 0.8; price < 3; price += 0.05 {
		settings := active
		settings.Price = price
		s, cut, raised := New(), 0, false
		for minute := range 14 * day {
			var r Result
			for second := 20; second < 80; second += 30 {
				r = s.Observe(&settings, inputAt(minute*60+second, jump(minute)))
			}
			switch m := minute % day; {
			case m >= 715 && m < 720:
				raised = raised || r.Replicas > 3
			case m == 720:
				if raised && r.Replicas <= 3 {
					cut++
				}
				raised = false
			}
		}
		if cut > 2 {
			t.Errorf("price %.2f: raised and cut off before the load on %d of 14 days", price, cut)
		}
	}
}

func TestGapOfDays(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	if r := feed(s, 5*day, 5*day+718, jump); r.Reason != ReasonLearning || r.Replicas != 0 {
		t.Errorf("after a gap of two days: %+v", r)
	}
	if r := feed(s, 5*day+718, 6*day+719, jump); r.Reason != ReasonInUse || r.Replicas < 7 {
		t.Errorf("30 hours after the gap: %+v", r)
	}
}

func TestClockThatJumps(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	s.Observe(&active, inputAt(400*day*60, 2))
	feed(s, 3*day, 4*day+400, jump)
	if r := feed(s, 4*day+400, 4*day+719, jump); r.Replicas < 7 {
		t.Errorf("a day and a half after the clock was right again: %+v", r)
	}
}

func TestTargetOfAPodChanges(t *testing.T) {
	s := New()
	feed(s, 0, 3*day, jump)
	var r Result
	for minute := 3 * day; minute < 3*day+719; minute++ {
		for second := 0; second < 60; second += 15 {
			in := inputAt(minute*60+second, jump(minute)/2)
			in.Load.PerPodMilli = 1000
			r = s.Observe(&active, in)
		}
	}
	if r.Replicas < 3 || r.Replicas > 6 {
		t.Errorf("pods serve twice as much, so 5 are needed: %+v", r)
	}
}

func TestLimits(t *testing.T) {
	s := New()
	feed(s, 0, 4*day+719, jump)
	in := inputAt((4*day+719)*60, 2)
	in.MaxReplicas = 6
	if r := s.Observe(&active, in); r.Replicas > 6 {
		t.Errorf("above maxReplicas: %+v", r)
	}
	free := New()
	expensive := Settings{Mode: Active, WasteLimitPercent: 3, Price: 0.01}
	none := Settings{Mode: Active, WasteLimitPercent: 0, Price: 10}
	for _, c := range []struct {
		settings Settings
		reason   Reason
	}{{expensive, ReasonNotWorthItsPrice}, {none, ReasonAboveWasteLimit}, {Settings{}, ReasonOff}} {
		*free = *s
		free.Observe(&c.settings, inputAt((4*day+719)*60, 2))
		r := free.Observe(&c.settings, inputAt((4*day+720)*60+30, 2))
		if r.Reason != c.reason || r.Replicas != 0 {
			t.Errorf("%+v: %+v", c.settings, r)
		}
	}
}

// TestCappedLoad: while there are too few pods, their usage says little about the load. The load that is seen
// afterwards corrects the values of the minutes before.
func TestCappedLoad(t *testing.T) {
	s := New()
	short := func(minute int) float64 {
		switch minute % day {
		case 720:
			return 3
		case 721:
			return 6
		}
		return jump(minute)
	}
	for minute := range 3*day + 719 {
		for second := 20; second < 80; second += 15 {
			in := inputAt(minute*60+second, short(minute))
			in.Load.IsCapped = short(minute) != jump(minute)
			s.Observe(&active, in)
		}
	}
	if got := s.v.Model.Expected(3*day + 720 + begin.Unix()/60); got < 7 {
		t.Errorf("a load of 10 is expected to be %.1f in its first minute, in which 3 pods were busy with it", got)
	}
	if before := s.v.Model.Expected(3*day + 719 + begin.Unix()/60); before > 3 {
		t.Errorf("%.1f is expected in the minute before", before)
	}
}

// TestRestart: a state that was saved and loaded continues as one that was not.
func TestRestart(t *testing.T) {
	s := New()
	for from := 0; from < 4*day; {
		to := from + 137 + from%611
		feed(s, from, to, jump)
		text, err := s.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		again := New()
		if err := again.UnmarshalText(text); err != nil {
			t.Fatal(err)
		}
		at := inputAt((to-1)*60+50, 2)
		if diff := cmp.Diff(s.Observe(&active, at), again.Observe(&active, at)); diff != "" {
			t.Fatalf("minute %d: %s", to, diff)
		}
		from = to + 1
		if from > day {
			s = again
		}
	}
}

// TestVersionOne: a state that version 1 has saved is used.
func TestVersionOne(t *testing.T) {
	text, err := os.ReadFile("testdata/version1.txt")
	if err != nil {
		t.Fatal(err)
	}
	saved := bytes.TrimSpace(text)
	s := New()
	if err := s.UnmarshalText(saved); err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []int{10, playback.Candidates - 1} {
		if *s.v.Played.With(candidate) != *s.v.Played.Without() {
			t.Errorf("candidate %d, of which version 1 knows nothing, has %+v", candidate, *s.v.Played.With(candidate))
		}
	}
	if r := feed(s, 3*day+300, 3*day+719, jump); r.Reason != ReasonInUse || r.Replicas < 7 || r.Replicas > 10 {
		t.Errorf("two minutes before the jump: %+v", r)
	}
	// 4 characters are 3 bytes.
	if err := New().UnmarshalText(saved[:len(saved)-4]); err == nil {
		t.Error("a truncated state of version 1 is read")
	}
}

func TestCloneSharesNothing(t *testing.T) {
	s := New()
	feed(s, 0, day, jump)
	c := s.Clone()
	before, _ := c.MarshalText()
	feed(s, day, 2*day, jump)
	if after, _ := c.MarshalText(); string(after) != string(before) {
		t.Error("learning changed the copy")
	}
	if !s.After(c) || c.After(s) {
		t.Error("the wrong one of the two has learnt more")
	}
}

func TestDamagedStates(t *testing.T) {
	s := New()
	feed(s, 0, 2*day, jump)
	good, _ := s.MarshalBinary()
	for name, change := range map[string]func(b []byte) []byte{
		"empty":           func([]byte) []byte { return nil },
		"another version": func(b []byte) []byte { b[0]++; return b },
		"version 1":       func(b []byte) []byte { b[0] = 1; return b },
		"cut off":         func(b []byte) []byte { return b[:len(b)-1] },
		"too long":        func(b []byte) []byte { return append(b, 0) },
		"not a number":    func(b []byte) []byte { copy(b[17:25], "\xff\xff\xff\xff\xff\xff\xff\x7f"); return b },
		"before 1970":     func(b []byte) []byte { b[8] = 0xff; return b },
		"too many minutes played": func(b []byte) []byte {
			copy(b[len(b)-binary.Size(s.v.Hours)-16:], "\xff\xff\xff\xff\xff\xff\xff\x0f")
			return b
		},
	} {
		again := New()
		if err := again.UnmarshalBinary(change(append([]byte(nil), good...))); err == nil {
			t.Errorf("%s: it was read", name)
		} else if diff := cmp.Diff(again.v, New().v); diff != "" {
			t.Errorf("%s: it was read in part", name)
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	s := New()
	feed(s, 0, 2*day, jump)
	good, _ := s.MarshalBinary()
	f.Add(good)
	f.Add([]byte{version})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New()
		if s.UnmarshalBinary(b) != nil {
			return
		}
		r := feed(s, 0, 20, jump)
		if r.Replicas < 0 || r.Replicas > 50 || math.IsNaN(r.Expected) {
			t.Fatalf("%+v", r)
		}
		again, err := s.MarshalBinary()
		if err != nil || s.UnmarshalBinary(again) != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	s := New()
	feed(s, 0, 2*day, jump)
	second := 2 * day * 60
	in := inputAt(0, 5)
	if n := testing.AllocsPerRun(1000, func() {
		second += 15
		in.Now = begin.Add(time.Duration(second) * time.Second)
		s.Observe(&active, in)
	}); n != 0 {
		t.Errorf("%v allocations an observation", n)
	}
}

// BenchmarkMinute plays a minute of an object with a forecast: 59 observations within it and one that ends it.
func BenchmarkMinute(b *testing.B) {
	for name, startUp := range map[string]time.Duration{"1m": time.Minute, "14m": 14 * time.Minute} {
		b.Run(name, func(b *testing.B) {
			s := New()
			feed(s, 0, 2*day, jump)
			second := 2 * day * 60
			in := inputAt(0, 5)
			in.StartUp = startUp
			b.ReportAllocs()
			for b.Loop() {
				for range 60 {
					second++
					in.Now = begin.Add(time.Duration(second) * time.Second)
					s.Observe(&active, in)
				}
			}
		})
	}
}
