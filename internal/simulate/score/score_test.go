package score

import (
	"math"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestElasticity is computed by hand: a pod serves 10 and shall serve 5. For 60 s two
// are needed and there are four; then eight are needed, and after 30 s there are ten.
func TestElasticity(t *testing.T) {
	a := New(Config{PodCapacity: 10, Target: 0.5, Tolerance: 0.1, MinReplicas: 1, RequestCores: 0.5, CoreHourPrice: 2})
	for s := range 120 {
		second := Second{Load: 10, Ready: 4, Paid: 4, Offered: 10}
		if s >= 60 {
			second.Load, second.Dropped = 40, 1
		}
		if s >= 90 {
			second.Ready, second.Paid = 10, 10
		}
		a.Add(&second)
	}
	a.AddAction(6)
	got := a.Score()
	near(t, "pod-hours", got.PodHours, (90*4+30*10)/3600.0)
	near(t, "cost", got.Cost, got.PodHours)
	near(t, "theta U", got.ThetaU, 100*30*0.5/120)
	near(t, "theta O", got.ThetaO, 100*(60*1+30*0.25)/120)
	near(t, "tau U", got.TauU, 100*30.0/120)
	near(t, "tau O", got.TauO, 100*90.0/120)
	// The need changes at 60 s, the count at 90 s, and never both.
	near(t, "instability", got.Instability, 100*2.0/119)
	near(t, "lost", got.LostPercent, 100*60.0/1200)
	// 40 is what four pods serve at most, so there is no real lack.
	near(t, "short", got.ShortPercent, 0)
	if got.Surges != 1 || got.Unrecovered != 0 || got.MedianRecoverySeconds != 30 || got.Actions != 1 || got.Ups != 1 {
		t.Errorf("%+v", got)
	}
}

func TestShort(t *testing.T) {
	a := New(Config{PodCapacity: 10, Target: 0.5})
	for s := range 100 {
		second := Second{Load: 40, Ready: 4}
		if s >= 10 && s < 30 || s == 50 {
			second.Ready = 2
		}
		a.Add(&second)
	}
	got := a.Score()
	near(t, "short", got.ShortPercent, 21)
	near(t, "depth", got.ShortDepthPercent, 50)
	near(t, "longest", got.LongestShortSeconds, 20)
	// Half of the load of 21 of the first 60 s.
	near(t, "worst minute", got.WorstMinutePercent, 100*21*0.5/60)
	near(t, "worst minute's beginning", got.WorstMinuteSeconds, 0)
}

// TestAboveTarget: for 60 s two pods of at most four carry what three should, and for 40 s four carry what six should.
// A load within the tolerance is not above the target.
func TestAboveTarget(t *testing.T) {
	a := New(Config{PodCapacity: 10, Target: 0.5, Tolerance: 0.1})
	for s := range 200 {
		second := Second{Load: 15, Ready: 2, Most: 4}
		switch {
		case s >= 160:
			second.Load, second.Ready = 30, 4
		case s >= 60:
			second.Load, second.Ready = 21, 4
		}
		a.Add(&second)
	}
	got := a.Score()
	near(t, "above the target", got.AboveTargetPercent, 50)
	near(t, "above it at maxReplicas", got.AboveAtMaxPercent, 20)
}

// TestSurges: slow growth is none, the second one comes a minute after the first at
// the earliest, and one that is never recovered from stays open.
func TestSurges(t *testing.T) {
	var s surges
	for at := range 600 {
		s.add(at, 10+math.Floor(float64(at)/60), true)
	}
	if s.count != 0 {
		t.Errorf("%d surges in slow growth", s.count)
	}
	s.add(600, 40, false)
	s.add(601, 80, false)
	if s.count != 1 || len(s.open) != 1 {
		t.Errorf("%d surges, %d open", s.count, len(s.open))
	}
	for at := 602; at < 660; at++ {
		s.add(at, 10, at == 620)
	}
	if len(s.recovered) != 1 || s.recovered[0] != 20 {
		t.Errorf("recovered after %v", s.recovered)
	}
	s.add(660, 80, false)
	if s.count != 2 || len(s.open) != 1 {
		t.Errorf("%d surges, %d open", s.count, len(s.open))
	}
}

func TestLatency(t *testing.T) {
	a := New(Config{PodCapacity: 1, Target: 1, Slow: time.Second})
	for i := range 1000 {
		a.AddLatency(2, 0.001*float64(i+1))
	}
	a.AddLatency(20, 7)
	got := a.Score()
	for what, pair := range map[string][2]float64{"p50": {got.P50Seconds, 0.505}, "p99": {got.P99Seconds, 1}} {
		if math.Abs(pair[0]/pair[1]-1) > 0.05 {
			t.Errorf("%s = %v, want about %v", what, pair[0], pair[1])
		}
	}
	near(t, "slow", got.SlowPercent, 100*20.0/2020)
}

func TestReverses(t *testing.T) {
	a := New(Config{PodCapacity: 1, Target: 1})
	for _, change := range []int32{1, 2, -1, -1, 3} {
		a.AddAction(change)
	}
	if got := a.Score(); got.Ups != 3 || got.Downs != 2 || got.Reverses != 2 {
		t.Errorf("%+v", got)
	}
}

// TestWorstMinute: a minute that is not over counts as well, and the first of two that are as bad.
func TestWorstMinute(t *testing.T) {
	a := New(Config{PodCapacity: 10, Target: 0.5})
	for s := range 250 {
		second := Second{Load: 40, Ready: 4}
		if s >= 70 && s < 80 || s >= 130 && s < 140 || s >= 245 {
			second.Ready = 1
		}
		a.Add(&second)
	}
	got := a.Score()
	near(t, "worst minute", got.WorstMinutePercent, 100*5*0.75/10)
	near(t, "worst minute's beginning", got.WorstMinuteSeconds, 240)
}
