package campaign

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// TestJudge adds up six seconds by hand: in the third and the fourth, 2.5 pods of load meet 2 ready ones.
func TestJudge(t *testing.T) {
	c := &Case{StepAt: 2 * time.Second, Autoscaler: Autoscaler{Min: 1, Max: 10}}
	j := judge{c: c}
	for second, m := range []simulate.Moment{
		{Load: 1, Ready: 2, Need: 2, Wanted: 2},
		{Load: 1, Ready: 2, Need: 2, Wanted: 2},
		{Load: 2.5, Ready: 2, Need: 5, Wanted: 2, IsShort: true},
		{Load: 2.5, Ready: 2, Need: 5, Wanted: 8, IsShort: true},
		{Load: 2.5, Ready: 5, Need: 5, Wanted: 7},
		{Load: 2.5, Ready: 8, Need: 5, Wanted: 7},
	} {
		m.At = time.Duration(second+1) * time.Second
		j.second(&m)
	}
	// The controllers decide from a minute before the load begins.
	j.decided(-55*time.Second, &horizontal.Decision{})
	j.decided(-26*time.Second, &horizontal.Decision{Rescale: true})
	j.decided(-24*time.Second, &horizontal.Decision{Rescale: true})
	got := j.finish(&simulate.Run{
		Score: score.Score{PodHours: 0.5, LostPercent: 3, Actions: 3, Reverses: 1},
		Changes: []simulate.Change{
			{At: time.Second, From: 1, To: 2}, {At: 2500 * time.Millisecond, From: 2, To: 1},
			{At: 3500 * time.Millisecond, From: 2, To: 8}, {At: 4500 * time.Millisecond, From: 8, To: 7},
		},
	})
	want := Figures{
		ShortSeconds: 2, LackingPodSeconds: 1, LostPercent: 3, PodHours: 0.5, Actions: 3, Turns: 1, Overshoot: 3,
		StartActions: 1, FirstUpSeconds: 1.5,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestOvershoot: what is wanted is compared with what is needed up to 600 s before and 30 s after.
func TestOvershoot(t *testing.T) {
	series := func(seconds int, base int, at map[int]int) []int {
		s := make([]int, seconds)
		for i := range s {
			s[i] = base
		}
		for second, value := range at {
			s[second] = value
		}
		return s
	}
	for name, c := range map[string]struct {
		wanted, need []int
		least, most  int
		want         int
	}{
		"as needed":          {series(50, 3, nil), series(50, 3, nil), 1, 10, 0},
		"three more":         {series(50, 3, map[int]int{20: 6}), series(50, 3, nil), 1, 10, 3},
		"needed 30 s later":  {series(50, 3, map[int]int{10: 6}), series(50, 3, map[int]int{40: 6}), 1, 10, 0},
		"needed 31 s later":  {series(50, 3, map[int]int{10: 6}), series(50, 3, map[int]int{41: 6}), 1, 10, 3},
		"600 s before":       {series(700, 3, map[int]int{650: 6}), series(700, 3, map[int]int{50: 6}), 1, 9, 0},
		"601 s before":       {series(700, 3, map[int]int{651: 6}), series(700, 3, map[int]int{50: 6}), 1, 9, 3},
		"least":              {series(50, 4, nil), series(50, 1, nil), 4, 10, 0},
		"more than the most": {series(50, 12, nil), series(50, 20, nil), 1, 10, 2},
		"fewer than needed":  {series(50, 2, nil), series(50, 3, nil), 1, 10, 0},
		"nothing was played": {nil, nil, 1, 10, 0},
		"need falls":         {series(50, 5, nil), series(50, 1, map[int]int{0: 5}), 1, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := overshoot(c.wanted, c.need, c.least, c.most); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestFirstUp(t *testing.T) {
	changes := []simulate.Change{{At: time.Minute, From: 3, To: 2}, {At: 70 * time.Second, From: 2, To: 4}}
	if got := firstUp(changes, 50*time.Second); got != 20*time.Second {
		t.Errorf("got %v", got)
	}
	if got := firstUp(changes, 0); got >= 0 {
		t.Errorf("without a step: %v", got)
	}
	if got := firstUp(changes[:1], 50*time.Second); got >= 0 {
		t.Errorf("never up: %v", got)
	}
	j := judge{c: &Case{StepAt: time.Second}}
	if f := j.finish(&simulate.Run{}); !math.IsNaN(float64(f.FirstUpSeconds)) {
		t.Errorf("never up: %v", f.FirstUpSeconds)
	}
}
