package loadreport

import (
	"strings"
	"testing"
	"time"
)

// TestTurns: a count that rises and falls every ten minutes flaps; one that rises in steps and falls once does not.
func TestTurns(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 3, 2, 9, minutes, 0, 0, time.UTC) }
	for why, c := range map[string]struct {
		counts []int32
		every  int
		want   Turns
		flaps  bool
	}{
		"never changed": {counts: []int32{3}},
		"in steps":      {counts: []int32{2, 4, 8, 16, 8}, every: 5, want: Turns{All: 1, MostInHour: 1, From: at(15)}},
		"by the day":    {counts: []int32{2, 9, 2, 9, 2, 9, 2, 9}, every: 12 * 60, want: Turns{All: 6, MostInHour: 1, From: at(12 * 60)}},
		"flapping": {counts: []int32{2, 4, 2, 4, 2, 4, 2, 4, 2}, every: 10,
			want: Turns{All: 7, MostInHour: 6, From: at(10)}, flaps: true},
	} {
		var changes []Change
		for i := 1; i < len(c.counts); i++ {
			changes = append(changes, Change{At: at((i - 1) * c.every), From: c.counts[i-1], To: c.counts[i]})
		}
		got := turnsOf(changes)
		if got != c.want || got.IsFlapping() != c.flaps {
			t.Errorf("%s: %+v, flaps %v; want %+v, %v", why, got, got.IsFlapping(), c.want, c.flaps)
		}
		if text := got.text(time.UTC); strings.Contains(text, "flaps") != c.flaps {
			t.Errorf("%s: %s", why, text)
		}
	}
}
