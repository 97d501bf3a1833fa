package horizontal_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// numbers reads a situation's numbers from bytes: one byte for a small range, eight for a large one. Missing bytes are
// zero.
type numbers []byte

func (n *numbers) next(_ string, low, high int64) int64 {
	size, span := 1, uint64(high)-uint64(low)
	if span > math.MaxUint8 {
		size = 8
	}
	var x uint64
	for range size {
		if len(*n) > 0 {
			x = x<<8 | uint64((*n)[0])
			*n = (*n)[1:]
		}
	}
	if span == math.MaxUint64 {
		return int64(x)
	}
	return int64(uint64(low) + x%(span+1))
}

// FuzzDecide: no input and no policy makes the decision, its report or its settlement panic. The state stays in order,
// and survives being saved.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("the quick brown fox jumps over the lazy dog, and then again over the same dog, which is lazier still"))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 255, 254, 253, 252, 251, 250, 0, 0,
		0, 9, 9, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, text []byte) {
		source := numbers(text)
		s := maker{pick: source.next, wild: true}.situation()
		horizontal.NeedsReadings(&s.policy, &horizontal.State{}, &s.observation)
		d, state := s.decide()
		for _, outcome := range []horizontal.Outcome{{At: s.now}, {At: s.now, Error: "conflict"}} {
			if r := statusreport.Of(&d, outcome); len(r.Conditions) == 0 {
				t.Errorf("a decision on %v without a condition", d.Branch)
			}
			ordered(t, horizontal.Settle(state.Clone(), outcome))
		}
		if p := &s.policy; p.Divergences.Has(divergence.Saturate) && p.MinReplicas >= 0 && p.MinReplicas <= p.MaxReplicas &&
			d.Rescale && (d.Desired < p.MinReplicas || d.Desired > p.MaxReplicas) {
			t.Errorf("writes %d, which is not in %d … %d", d.Desired, p.MinReplicas, p.MaxReplicas)
		}
	})
}

// ordered checks that the deques are in order and that a saved state equals the original.
func ordered(t *testing.T, s horizontal.State) {
	t.Helper()
	highs, lows := s.Recommendations.Highs, s.Recommendations.Lows
	for i := 1; i < len(highs); i++ {
		if highs[i].Replicas >= highs[i-1].Replicas || highs[i].Time.Before(highs[i-1].Time) {
			t.Errorf("highs do not fall: %v", highs)
		}
	}
	for i := 1; i < len(lows); i++ {
		if lows[i].Replicas <= lows[i-1].Replicas || lows[i].Time.Before(lows[i-1].Time) {
			t.Errorf("lows do not rise: %v", lows)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back horizontal.State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back, remembered, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("%s reads back otherwise (-written +read):\n%s", text, diff)
	}
}
