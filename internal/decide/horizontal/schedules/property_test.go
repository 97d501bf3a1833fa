package schedules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca",
}

var expressions = []string{
	"* * * * *", "*/7 * * * *", "30 1 * * *", "30 2 * * *", "0 3 * * *", "15 2 * * 0", "0 0 * * *", "45 1,2 * * *",
	"0 8 * * 1-5", "0 0 1 * *", "0 0 29 2 *", "0 0 30 2 *", "@hourly", "@daily",
}

func draw(t *rapid.T, longest time.Duration) []schedules.Schedule {
	all := make([]schedules.Schedule, rapid.IntRange(0, 4).Draw(t, "schedules"))
	for i := range all {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		all[i] = schedules.Schedule{
			Name: fmt.Sprint(i), Location: zone, Start: cronOf(rapid.SampledFrom(expressions).Draw(t, "expression")),
			Duration:    time.Duration(rapid.Int64Range(60, int64(longest/time.Second)).Draw(t, "duration")) * time.Second,
			MinReplicas: rapid.Int32Range(0, 30).Draw(t, "min"),
			MaxReplicas: rapid.Int32Range(0, 30).Draw(t, "max"),
			Ramp:        time.Duration(rapid.Int64Range(0, 7200).Draw(t, "ramp")) * time.Second,
		}
		if rapid.Bool().Draw(t, "ends by the clock") {
			all[i].End = cronOf(rapid.SampledFrom(ends).Draw(t, "end"))
		}
		if rapid.Bool().Draw(t, "has dates") {
			all[i].NotBefore = drawMoment(t)
			all[i].NotAfter = all[i].NotBefore.Add(time.Duration(rapid.Int64Range(1, 86400).Draw(t, "dates")) * time.Second)
		}
	}
	return all
}

// Each of the ends occurs at least once a day.
var ends = []string{"0 6 * * *", "30 2 * * *", "45 1,2 * * *", "*/7 * * * *", "@daily"}

// drawMoment returns a moment around a change of the clock.
func drawMoment(t *rapid.T) time.Time {
	changes := []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC),
	}
	around := rapid.Int64Range(-6*3600, 6*3600).Draw(t, "around")
	return rapid.SampledFrom(changes).Draw(t, "change").Add(time.Duration(around) * time.Second)
}

// matches returns the matches within a period by a slow search: it checks every minute whose clock matches, or before
// which the change of the clock leaves out a matching minute. It asks cron one second before it, so that cron does not
// search.
func matches(cron schedules.Cron, in *time.Location, after, until time.Time) []time.Time {
	var all []time.Time
	for at := after.Truncate(time.Minute); !at.After(until); at = at.Add(time.Minute) {
		_, offset := at.Add(-time.Second).In(in).Zone()
		_, next := at.In(in).Zone()
		isMatch := cron.Next(at.In(in).Add(-time.Second)).Equal(at)
		for left := offset; left < next; left += 60 {
			shown := at.UTC().Add(time.Duration(left) * time.Second)
			isMatch = isMatch || cron.Next(shown.Add(-time.Second)).Equal(shown)
		}
		if at.After(after) && isMatch {
			all = append(all, at)
		}
	}
	return all
}

// isInForce reports whether a start has no end yet.
func isInForce(s *schedules.Schedule, now time.Time) bool {
	if now.Before(s.NotBefore) || !s.NotAfter.IsZero() && !now.Before(s.NotAfter) {
		return false
	}
	if s.End == nil {
		return len(matches(s.Start, s.Location, now.Add(-s.Duration), now)) > 0
	}
	starts := matches(s.Start, s.Location, now.Add(-30*time.Hour), now)
	return len(starts) > 0 && len(matches(s.End, s.Location, starts[len(starts)-1], now)) == 0
}

// TestAgainstTwin: without ramps, the bounds equal the result of a search minute by minute.
func TestAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, now := draw(t, 30*time.Hour), drawMoment(t)
		own := schedules.Bounds{MinReplicas: 3, MaxReplicas: 20}
		want := own
		for i := range all {
			s := &all[i]
			s.Ramp = 0
			if !isInForce(s, now) {
				continue
			}
			want.MinReplicas = max(want.MinReplicas, s.MinReplicas)
			if s.MaxReplicas > 0 {
				want.MaxReplicas = min(want.MaxReplicas, s.MaxReplicas)
			}
		}
		want.MinReplicas = min(want.MinReplicas, want.MaxReplicas)
		var c schedules.Cache
		if got := c.At(now, all, own); got.Bounds != want {
			t.Fatalf("at %v: %v, want %v", now, got.Bounds, want)
		}
	})
}

// TestCacheCarriesNothing: a used cache leads to the same result as a new one.
func TestCacheCarriesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, now := draw(t, 100*24*time.Hour), drawMoment(t)
		own := schedules.Bounds{MinReplicas: 1, MaxReplicas: 25}
		var used schedules.Cache
		for range 20 {
			now = now.Add(time.Duration(rapid.Int64Range(-60, 3600).Draw(t, "seconds")) * time.Second)
			var fresh schedules.Cache
			want := fresh.At(now, all, own)
			if diff := cmp.Diff(want, used.At(now, all, own), cmp.Comparer(same), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("at %v (-new +used):\n%s", now, diff)
			}
		}
	})
}

func same(a, b *schedules.Schedule) bool { return a == b }

// TestBoundsAreTightened: schedules never raise max, and lower min only to stay at or below max.
func TestBoundsAreTightened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, now := draw(t, 24*time.Hour), drawMoment(t)
		own := schedules.Bounds{MinReplicas: 4, MaxReplicas: 12}
		var c schedules.Cache
		r := c.At(now, all, own)
		if r.MaxReplicas > own.MaxReplicas || r.MinReplicas > r.MaxReplicas ||
			r.MinReplicas < min(own.MinReplicas, r.MaxReplicas) {
			t.Fatalf("%v of %v", r.Bounds, own)
		}
		if !r.Next.At.IsZero() && !r.Next.At.After(now) {
			t.Fatalf("at %v the next change is at %v", now, r.Next.At)
		}
	})
}

// TestNothingChangesInBetween: the bounds stay the same until the next change.
func TestNothingChangesInBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, now := draw(t, 24*time.Hour), drawMoment(t)
		own := schedules.Bounds{MinReplicas: 1, MaxReplicas: 30}
		var c, other schedules.Cache
		r := c.At(now, all, own)
		if r.Next.At.IsZero() {
			return
		}
		part := rapid.Int64Range(0, int64(r.Next.At.Sub(now))-1).Draw(t, "later")
		later := other.At(now.Add(time.Duration(part)), all, own)
		if later.Bounds != r.Bounds || later.Next != r.Next {
			t.Fatalf("%v at %v, %v %v later; the next change is %v, then %v", r.Bounds, now, later.Bounds,
				time.Duration(part), r.Next, later.Next)
		}
	})
}

// TestRampNeverFalls: if no schedule has a max, the min does not fall between the start of a ramp and the end of its
// schedule.
func TestRampNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := draw(t, 12*time.Hour)
		for i := range all {
			all[i].MaxReplicas, all[i].Start = 0, cronOf(fmt.Sprintf("%d %d * * *", 7*i, rapid.IntRange(0, 23).Draw(t, "hour")))
			all[i].End, all[i].NotBefore, all[i].NotAfter = nil, time.Time{}, time.Time{}
		}
		rising := &schedules.Schedule{
			Name: "rising", Start: cronOf("0 12 * * *"), Duration: time.Hour, MinReplicas: 25,
			Ramp: time.Duration(rapid.Int64Range(1, 7200).Draw(t, "ramp of it")) * time.Second,
		}
		all = slices.Insert(all, 0, *rising)
		start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		least := int32(0)
		var c schedules.Cache
		for now := start.Add(-rising.Ramp); now.Before(start.Add(time.Minute)); now = now.Add(17 * time.Second) {
			r := c.At(now, all, schedules.Bounds{MinReplicas: 2, MaxReplicas: 100})
			i := slices.IndexFunc(r.InForce, func(f schedules.InForce) bool { return f.Schedule.Name == "rising" })
			if i < 0 {
				// Another schedule has the same min.
				continue
			}
			if r.InForce[i].MinReplicas < least {
				t.Fatalf("from %d to %d", least, r.InForce[i].MinReplicas)
			}
			least = r.InForce[i].MinReplicas
		}
		if least > 25 {
			t.Fatalf("up to %d", least)
		}
	})
}

func cronOf(expression string) schedules.Cron { return parse(failing{}, expression) }

// failing panics on a failure, because the expressions above are valid.
type failing struct{ testing.TB }

func (failing) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// asked counts the searches of a cron expression.
type asked struct {
	schedules.Cron
	times *int
}

func (a asked) Next(after time.Time) time.Time {
	*a.times++
	return a.Cron.Next(after)
}

// TestAskedRarely: between changes there is no search, and an expression that never matches is searched once a year.
func TestAskedRarely(t *testing.T) {
	times := 0
	all := []schedules.Schedule{
		{Name: "never", Start: asked{cronOf("0 0 30 2 *"), &times}, Duration: time.Hour, MinReplicas: 5},
		{Name: "daily", Start: asked{cronOf("0 8 * * *"), &times}, Duration: time.Hour, MinReplicas: 5, Ramp: time.Hour},
	}
	var c schedules.Cache
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for range 24 * 3600 {
		c.At(now, all, schedules.Bounds{MinReplicas: 1, MaxReplicas: 10})
		now = now.Add(time.Second)
	}
	if times > 50 {
		t.Errorf("asked %d times in a day", times)
	}
	// The start is every minute of 366 days.
	times = 0
	all = []schedules.Schedule{
		{Name: "always", Start: asked{cronOf("* * * * *"), &times}, Duration: 366 * 24 * time.Hour, MinReplicas: 5},
	}
	c.At(now, all, schedules.Bounds{MinReplicas: 1, MaxReplicas: 10})
	if times > 1000 {
		t.Errorf("asked %d times at once", times)
	}
}

// TestOftenIsCheap: the largest number of schedules, each with a start every minute, costs little at first and little
// each minute.
func TestOftenIsCheap(t *testing.T) {
	for _, duration := range []time.Duration{time.Minute, 366 * 24 * time.Hour} {
		times := 0
		var all []schedules.Schedule
		for i := range 32 {
			all = append(all, schedules.Schedule{
				Name: fmt.Sprint(i), Start: asked{cronOf("* * * * *"), &times}, Duration: duration, MinReplicas: int32(i + 1),
				Ramp: 24 * time.Hour,
			})
		}
		var c schedules.Cache
		now := time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)
		for range 11 {
			c.At(now, all, schedules.Bounds{MinReplicas: 1, MaxReplicas: 100})
			now = now.Add(time.Minute)
		}
		if most := 11 * 32 * 40; times > most {
			t.Errorf("%s: asked %d times in ten minutes, want at most %d", duration, times, most)
		}
	}
}
