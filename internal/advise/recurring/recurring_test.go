package recurring

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// monday is when the made-up histories begin, at midnight in UTC.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

const weeks = 3

func config() Config {
	return Config{MinReplicas: 2, MaxReplicas: 40, StartUp: time.Minute, Utilization: 0.7, Location: time.UTC}
}

// madeUp is a history of so many days: a quiet load with a little noise, plus what a function adds in each minute.
func madeUp(days int, seed uint64, added func(at time.Time, random *rand.Rand) float64) History {
	random := rand.New(rand.NewPCG(seed, 7))
	h := History{Start: monday, Pods: make([]float64, days*minutesOfDay)}
	for i := range h.Pods {
		at := monday.Add(time.Duration(i) * time.Minute)
		quiet := 4 - 2*math.Cos(2*math.Pi*float64(i)/minutesOfDay)
		h.Pods[i] = max(0, (quiet+added(at, random))*(1+0.03*random.NormFloat64()))
	}
	return h
}

// jump is a load of so many pods that comes at a time of the day, by the clock of its own location, and stays for an
// hour.
func jump(pods float64, hour, minute int, location *time.Location, days Weekdays) func(time.Time, *rand.Rand) float64 {
	return func(at time.Time, _ *rand.Rand) float64 {
		local := at.In(location)
		since := (local.Hour()-hour)*60 + local.Minute() - minute
		if days.Has(local.Weekday()) && since >= 0 && since < 60 {
			return pods
		}
		return 0
	}
}

// TestJumpOfEveryHour: one schedule has the pods for all of them.
func TestJumpOfEveryHour(t *testing.T) {
	hourly := func(days Weekdays) func(time.Time, *rand.Rand) float64 {
		return func(at time.Time, _ *rand.Rand) float64 {
			if days.Has(at.Weekday()) && at.Minute() >= 30 && at.Minute() < 40 {
				return 16
			}
			return 0
		}
	}
	for days, want := range map[Weekdays]string{EveryDay: "27 * * * *", WorkingDays: "27 * * * mon-fri"} {
		found := propose(t, madeUp(weeks*7, 1, hourly(days)), config())
		if len(found) != 1 || found[0].Cron() != want || found[0].PerDay.Avoided < 0.8*found[0].PerDay.Lacking {
			t.Errorf("%+v, want %q", found, want)
		}
	}
}

// TestJumpOfEverySecondHour: one schedule has the pods for all of them, also where a jump comes in two of three hours
// only, so that it comes at no time of the day on most of the days.
func TestJumpOfEverySecondHour(t *testing.T) {
	for want, c := range map[string]struct {
		hour, minute int
		chance       float64
	}{
		"1 1-23/2 * * *": {1, 4, 1}, "33 0-23/2 * * *": {0, 36, 0.67},
	} {
		comes := false
		found := propose(t, madeUp(weeks*7, 1, func(at time.Time, random *rand.Rand) float64 {
			if at.Hour()%2 == c.hour && at.Minute() == c.minute {
				comes = random.Float64() < c.chance
			}
			if comes && at.Hour()%2 == c.hour && at.Minute() >= c.minute && at.Minute() < c.minute+2 {
				return 16
			}
			return 0
		}), config())
		if len(found) != 1 || found[0].Cron() != want || found[0].PerDay.Avoided < 0.8*found[0].PerDay.Lacking {
			t.Errorf("%+v, want %q", found, want)
		}
	}
}

// TestTooLittle: a jump that lacks a pod for less than a minute a day is worth no schedule, nor is a twentieth of what
// lacks.
func TestTooLittle(t *testing.T) {
	small := config()
	small.Utilization = 0.8
	for pods, want := range map[float64]int{3: 0, 4: 1} {
		if found := propose(t, madeUp(weeks*7, 1, jump(pods, 9, 0, time.UTC, EveryDay)), small); len(found) != want {
			t.Errorf("a jump of %v pods: %+v, want %d schedules", pods, found, want)
		}
	}
	// A small jump, and a large one at any time.
	at := -1
	found := propose(t, madeUp(weeks*7, 1, func(now time.Time, random *rand.Rand) float64 {
		if now.Hour() == 0 && now.Minute() == 0 {
			at = 600 + random.IntN(700)
		}
		if since := now.Hour()*60 + now.Minute() - at; since >= 0 && since < 60 {
			return 36
		}
		return jump(3.5, 2, 0, time.UTC, EveryDay)(now, random)
	}), config())
	if len(found) > 0 {
		t.Errorf("%+v", found[0])
	}
}

func propose(t *testing.T, h History, c Config) []Proposal {
	t.Helper()
	found, err := Propose(h, c)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestJumpRecurs: the schedule starts a start-up time and two minutes before the jump, on the days on which it comes,
// with about as many pods as it needs.
func TestJumpRecurs(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		days int
		load func(time.Time, *rand.Rand) float64
		in   *time.Location
		want string
	}{
		"every day":         {21, jump(16, 9, 0, time.UTC, EveryDay), time.UTC, "57 8 * * *"},
		"on working days":   {21, jump(16, 9, 0, time.UTC, WorkingDays), time.UTC, "57 8 * * mon-fri"},
		"at the weekend":    {21, jump(16, 9, 0, time.UTC, Weekend), time.UTC, "57 8 * * sun,sat"},
		"each Tuesday":      {42, jump(16, 17, 30, time.UTC, 1<<time.Tuesday), time.UTC, "27 17 * * tue"},
		"as the day begins": {21, jump(16, 0, 1, time.UTC, WorkingDays), time.UTC, "58 23 * * sun-thu"},
		// The clock is set forward on 8 March: 9:00 is 14:00 UTC on six days, then 13:00.
		"by the clock of New York": {21, jump(16, 9, 0, newYork, EveryDay), newYork, "57 8 * * *"},
		"by another clock":         {21, jump(16, 14, 0, time.UTC, EveryDay), time.FixedZone("", 5*3600+1800), "27 19 * * *"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := config()
			settings.Location = c.in
			found := propose(t, madeUp(c.days, 1, c.load), settings)
			if len(found) != 1 {
				t.Fatalf("%d schedules, want one: %+v", len(found), found)
			}
			p := found[0]
			if p.Cron() != c.want {
				t.Errorf("it starts at %q, want %q", p.Cron(), c.want)
			}
			// The load is 18 to 22 pods at the target. They are asked for at 20 s and ready at 80 s.
			if p.MinReplicas < 12 || p.MinReplicas > 23 || p.Duration < 4*time.Minute || p.Duration > 10*time.Minute {
				t.Errorf("%d replicas for %s", p.MinReplicas, p.Duration)
			}
			if p.Helped != p.Starts || p.PerDay.Avoided < 0.8*p.PerDay.Lacking || p.PerDay.Added > 5*p.PerDay.Avoided {
				t.Errorf("played back: %+v", p)
			}
		})
	}
}

// TestJumpDoesNotRecur: chance, and what is over, are no reason for a schedule.
func TestJumpDoesNotRecur(t *testing.T) {
	type load = func(at time.Time, random *rand.Rand) float64
	for name, start := range map[string]func() load{
		"random jumps": func() load {
			left := 0
			return func(_ time.Time, random *rand.Rand) float64 {
				if left--; random.Float64() < 3.0/minutesOfDay {
					left = 60
				}
				if left > 0 {
					return 16
				}
				return 0
			}
		},
		"a random walk": func() load {
			at := 10.0
			return func(_ time.Time, random *rand.Rand) float64 {
				at = min(max(0, at+0.5*random.NormFloat64()), 30)
				return at
			}
		},
		"noise": func() load {
			return func(_ time.Time, random *rand.Rand) float64 { return 10 * random.ExpFloat64() }
		},
		"a jump that stopped a week ago": func() load {
			recurs := jump(16, 9, 0, time.UTC, EveryDay)
			return func(at time.Time, random *rand.Rand) float64 {
				if at.Before(monday.Add((weeks - 1) * 7 * 24 * time.Hour)) {
					return recurs(at, random)
				}
				return 0
			}
		},
		"a jump at the same minute of few days": func() load { return jump(16, 9, 0, time.UTC, 1<<time.Tuesday) },
		"nothing at all":                        func() load { return func(time.Time, *rand.Rand) float64 { return 0 } },
		"a wave":                                func() load { return jump(0, 0, 0, time.UTC, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			lacking := 0.0
			for seed := range uint64(4) {
				h, c := madeUp(weeks*7, seed, start()), config()
				if found := propose(t, h, c); len(found) > 0 {
					t.Errorf("seed %d: %s: %+v", seed, found[0].Cron(), found[0])
				}
				for _, pods := range newPlayback(&h, &c).lacking {
					lacking += float64(pods)
				}
			}
			if strings.Contains(name, "jump") || name == "noise" {
				if lacking == 0 {
					t.Error("nothing ever lacks, so nothing can be proposed")
				}
			}
		})
	}
}

// TestSchedulesThatThereAre: with the schedule that was proposed, nothing more is.
func TestSchedulesThatThereAre(t *testing.T) {
	h, c := madeUp(weeks*7, 1, jump(16, 9, 0, time.UTC, EveryDay)), config()
	p := propose(t, h, c)[0]
	c.Floor = func(at time.Time) int32 {
		start := time.Date(at.Year(), at.Month(), at.Day(), p.Hour, p.Minute, 0, 0, time.UTC)
		if !at.Before(start) && at.Before(start.Add(p.Duration)) {
			return p.MinReplicas
		}
		return 0
	}
	if found := propose(t, h, c); len(found) > 0 {
		t.Errorf("still %s: %+v", found[0].Cron(), found[0])
	}
}

// TestUnknownMinutes: days without samples count neither for a schedule nor against it, and are no load of zero.
func TestUnknownMinutes(t *testing.T) {
	whole := madeUp(weeks*7, 1, jump(16, 9, 0, time.UTC, EveryDay))
	for _, missing := range []int{3, 9, 16, 19} {
		for minute := range minutesOfDay {
			whole.Pods[missing*minutesOfDay+minute] = math.NaN()
		}
	}
	found := propose(t, whole, config())
	if len(found) != 1 || found[0].Cron() != "57 8 * * *" || found[0].Starts != 5 || found[0].Helped != 5 {
		t.Errorf("%+v", found)
	}
	// A load that is known only at the jump comes from nothing known: it is no jump.
	for i := range whole.Pods {
		if minute := i % minutesOfDay; minute < 9*60 || minute >= 10*60 {
			whole.Pods[i] = math.NaN()
		}
	}
	for _, p := range propose(t, whole, config()) {
		t.Errorf("from the jumps alone: %+v", p)
	}
}

func TestTooShort(t *testing.T) {
	for days := range LeastDays {
		h := madeUp(days, 1, jump(16, 9, 0, time.UTC, EveryDay))
		if found := propose(t, h, config()); len(found) > 0 {
			t.Errorf("from %d days: %+v", days, found)
		}
	}
	if found := propose(t, madeUp(LeastDays, 1, jump(16, 9, 0, time.UTC, EveryDay)), config()); len(found) != 1 {
		t.Errorf("from %d days: %+v", LeastDays, found)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*History, *Config){
		"minutes of history":    func(h *History, _ *Config) { h.Pods = make([]float64, MaxMinutes+1) },
		"the load of minute 7":  func(h *History, _ *Config) { h.Pods[7] = -1 },
		"minute 8 is +Inf":      func(h *History, _ *Config) { h.Pods[8] = math.Inf(1) },
		"a start-up time of 2h": func(_ *History, c *Config) { c.StartUp = 2 * time.Hour },
		"a utilization of 0":    func(_ *History, c *Config) { c.Utilization = 0 },
		"exclude each other":    func(_ *History, c *Config) { c.MaxReplicas = 1 },
		"no time zone":          func(_ *History, c *Config) { c.Location = nil },
	} {
		h, c := madeUp(1, 1, jump(0, 0, 0, time.UTC, 0)), config()
		change(&h, &c)
		if _, err := Propose(h, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestCron(t *testing.T) {
	for days, want := range map[Weekdays]string{
		EveryDay: "*", WorkingDays: "mon-fri", WorkingDays.before(): "sun-thu", Weekend: "sun,sat",
		Weekend.before(): "fri-sat", 1 << time.Sunday: "sun", Weekdays(1 << time.Sunday).before(): "sat",
	} {
		if got := days.cron(); got != want {
			t.Errorf("%v: %q, want %q", days, got, want)
		}
	}
}
