package simulate

import (
	"testing"
	"time"
)

// TestFloorOfASetting: its minutes are those of the load, and the count that it asks for is there when the load jumps.
func TestFloorOfASetting(t *testing.T) {
	play := func(floor func(at time.Duration) int32) *Run {
		s := sceneOf(t, "step:20@0s,100@10m")
		s.For = 20 * time.Minute
		run, err := Play(t.Context(), s, Setting{Side: Plimsoll, HPA: autoscaler(50, 2, 20), Floor: floor}, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	var asked []time.Duration
	ahead := play(func(at time.Duration) int32 {
		asked = append(asked, at)
		if at < 9*time.Minute || at >= 12*time.Minute {
			return 0
		}
		return 15
	})
	if without := play(nil); ahead.Score.ShortPercent != 0 || without.Score.ShortPercent == 0 {
		t.Errorf("short for %v %% of the time, without a floor %v %%", ahead.Score.ShortPercent, without.Score.ShortPercent)
	}
	if len(asked) != 21 || asked[0] != 0 || asked[20] != 20*time.Minute {
		t.Errorf("asked at %v, want each minute of the load once", asked)
	}
	setting := Setting{Side: Upstream, HPA: autoscaler(50, 2, 20), Floor: func(time.Duration) int32 { return 1 }}
	if _, err := Play(t.Context(), sceneOf(t, "poisson:10"), setting, Watch{}); err == nil {
		t.Error("upstream's loop has a floor")
	}
}

// TestScoreFrom: what is played before leaves its pods and its history behind, and nothing in the score.
func TestScoreFrom(t *testing.T) {
	s := sceneOf(t, "step:20@0s,100@10m")
	// What was too many pods is gone after the stabilization window.
	s.For, s.ScoreFrom = 25*time.Minute, 20*time.Minute
	late := playOf(t, s, Upstream)
	if len(late.Changes) == 0 || late.Score.Actions != 0 || late.Score.ShortPercent != 0 || late.Score.Surges != 0 {
		t.Errorf("%d changes, %+v", len(late.Changes), late.Score)
	}
	if want := 5.0 / 60; late.Score.Hours < want-1e-9 || late.Score.Hours > want+1e-9 {
		t.Errorf("%v hours are scored, want %v", late.Score.Hours, want)
	}
	for _, from := range []time.Duration{-time.Second, s.For} {
		s.ScoreFrom = from
		if _, err := Play(t.Context(), s, Setting{Side: Upstream, HPA: autoscaler(50, 2, 20)}, Watch{}); err == nil {
			t.Errorf("a score from %v on of %v", from, s.For)
		}
	}
}
