package replay

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

const day = 24 * 60

// jumps has 2, and 10 for an hour from noon on, on a number of days.
func jumps(days int) *Load {
	l := &Load{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Full: 1.25}
	for i := range days * day {
		pods := 2.0
		if m := i % day; m >= 720 && m < 780 {
			pods = 10
		}
		l.Pods = append(l.Pods, pods)
	}
	return l
}

var config = Config{
	Settings: forecast.Settings{
		Mode: forecast.Active, Price: forecast.DefaultPrice, WasteLimitPercent: forecast.DefaultWasteLimitPercent,
	},
	MinReplicas: 1, MaxReplicas: 20, StartUp: time.Minute, Tolerance: 0.1,
}

func TestDays(t *testing.T) {
	r := Play(jumps(5), &config)
	if len(r.Days) != 5 || r.Last.Reason != forecast.ReasonInUse {
		t.Fatalf("%+v", r)
	}
	for i, d := range r.Days {
		learns := i < 2 // what avoids the second jump is known after it
		if d.Lacking < 5 || d.KnownMinutes != day || learns != (d.Avoided == 0) ||
			d.Wasted > d.Paid/100 {
			t.Errorf("day %d: %+v", i, d)
		}
		if !learns && (d.Avoided < 0.8*d.Lacking || d.MostReplicas < 7 || d.RaisedMinutes == 0) {
			t.Errorf("day %d: %+v", i, d)
		}
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	l := jumps(4)
	for i := 3*day + 600; i < 3*day+900; i++ {
		l.Pods[i] = math.NaN()
	}
	d := Play(l, &config).Days[3]
	if d.KnownMinutes != day-300 || d.Lacking != 0 || d.Wasted > 1 {
		t.Errorf("a day whose jump was not seen: %+v", d)
	}
}

// TestGoesOn: what was learnt from the past asks for replicas right away.
func TestGoesOn(t *testing.T) {
	l := jumps(4)
	l.Pods = l.Pods[:3*day+719]
	r := Play(l, &config)
	in := config.input(l, 3*day+718)
	in.Now = l.Start.Add((3*day + 719) * time.Minute)
	if got := r.State.Observe(&config.Settings, in); got.Replicas < 7 {
		t.Errorf("a minute before the jump: %+v", got)
	}
}

func TestNothing(t *testing.T) {
	if r := Play(&Load{}, &config); len(r.Days) != 0 || r.State == nil {
		t.Errorf("%+v", r)
	}
}

// TestNeeded: before so much of a load is seen there is no proposal, and after it there may be.
func TestNeeded(t *testing.T) {
	if Needed() < 24*time.Hour {
		t.Fatalf("%v, in which no day can recur", Needed())
	}
	minutes := int(Needed() / time.Minute)
	load := Load{Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Pods: make([]float64, minutes+2)}
	c := Config{Settings: forecast.Settings{Mode: forecast.Active, Price: 10}, MaxReplicas: 10}
	if r := Play(&load, &c); r.Last.Reason == forecast.ReasonLearning {
		t.Errorf("after %d minutes: %+v", minutes+2, r.Last)
	}
	load.Pods = load.Pods[:minutes-1]
	if r := Play(&load, &c); r.Last.Reason != forecast.ReasonLearning {
		t.Errorf("after %d minutes: %+v", minutes-1, r.Last)
	}
}
