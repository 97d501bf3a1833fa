package trigger

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRounds: whatever the order in which nodes report, a round that begins leads
// to a decision within SampleDelay, and no node reports twice within one round.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		last, seen := map[int]time.Time{}, map[int]bool{} // seen since the last round began
		var r Round
		var due time.Time
		now := time.Unix(1000, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 700).Draw(t, "ms")) * time.Millisecond)
			if !due.IsZero() && !due.After(now) {
				r.Decided()
				due = time.Time{}
			}
			node := rapid.IntRange(0, nodes-1).Draw(t, "node")
			begins := seen[node] || len(seen) == 0
			if begins {
				seen = map[int]bool{}
			}
			seen[node] = true
			at, yes := r.Report(now, last[node], nodes)
			last[node] = now
			if begins != r.began.Equal(now) || r.reported != len(seen) {
				t.Fatalf("%+v, want that it begins: %v, with %d nodes", r, begins, len(seen))
			}
			want := time.Time{}
			switch {
			case r.decided:
			case len(seen) == nodes:
				want = now
			case begins:
				want = now.Add(SampleDelay)
			}
			if yes == want.IsZero() || !at.Equal(want) {
				t.Fatalf("%+v is due at %v, want %v", r, at, want)
			}
			due = earlier(due, at)
		}
	})
}

// earlier is the earlier of two times, of which one that is zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// TestAfterEvent: changes gather, and neither decisions nor requests follow each other at once.
func TestAfterEvent(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		decided, asked time.Time
		want           time.Duration
	}{
		"nothing before":   {time.Time{}, time.Time{}, EventDelay},
		"just decided":     {now, time.Time{}, EventGap},
		"just requested":   {now, now, RequestGap},
		"requested before": {now.Add(-EventGap), now.Add(-RequestGap), EventDelay},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AfterEvent(now, tt.decided, tt.asked).Sub(now); got != tt.want {
				t.Errorf("after %s, want %s", got, tt.want)
			}
		})
	}
}

// TestKindsAreReadAsTheyAreWritten: what a snapshot says of the trigger is what was decided on.
func TestKindsAreReadAsTheyAreWritten(t *testing.T) {
	for _, kind := range []Kind{Periodic, Samples, Event} {
		if got, known := Parse(kind.String()); got != kind || !known {
			t.Errorf("%s is read as %s, known %v", kind, got, known)
		}
	}
	if _, known := Parse("often"); known {
		t.Error("an unknown kind is read")
	}
}
