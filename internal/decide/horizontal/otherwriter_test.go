package horizontal

import (
	"testing"
	"time"
)

const period = 15 * time.Second

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestOverrides: each step has a moment, the count that is observed then, and the expected result. The decided count,
// 4, is written unless a rule defers it.
func TestOverrides(t *testing.T) {
	type step struct {
		at       time.Duration
		replicas int32
		want     Overridden
		// held is the time for which the count is not written; isContested is set if status names the other writer.
		held        time.Duration
		isContested bool
	}
	const second, minute = time.Second, time.Minute
	for name, steps := range map[string][]step{
		"its own count": {
			{0, 2, Overridden{}, 0, false}, {second, 4, Overridden{}, 0, false}, {period, 4, Overridden{}, 0, false},
		},
		"a person, once": {
			{0, 2, Overridden{}, 0, false}, {minute, 2, Overridden{}, 0, false}, {minute + second, 4, Overridden{}, 0, false},
		},
		"as fast as it is written": {
			{0, 2, Overridden{}, 0, false},
			{second, 2, Overridden{}, 0, false},
			// The second override within two sync periods: the last write was at 1 s.
			{2 * second, 2, Overridden{IsNamed: true, IsNew: true}, 14 * second, true},
			{10 * second, 2, Overridden{}, 6 * second, true},
			// The count was written again, and set back again.
			{16 * second, 2, Overridden{}, 0, true},
			{17 * second, 2, Overridden{IsNamed: true}, 14 * second, true},
			// The last two overrides are two periods ago; three within half an hour still name it.
			{33 * second, 2, Overridden{}, 0, true},
			{34 * second, 4, Overridden{}, 0, true},
			{30*minute + 2*second, 4, Overridden{}, 0, false},
		},
		"every few minutes": {
			{0, 2, Overridden{}, 0, false},
			{3 * minute, 2, Overridden{}, 0, false},
			{6 * minute, 2, Overridden{}, 0, false},
			{9 * minute, 2, Overridden{IsNamed: true, IsNew: true}, 0, true},
			{12 * minute, 4, Overridden{}, 0, true},
			{33*minute + second, 4, Overridden{}, 0, false},
		},
	} {
		var h Overrides
		for i, s := range steps {
			now := start.Add(s.at)
			next := h.Next(now, s.replicas, period)
			h.Observe(now, s.replicas)
			held := h.HeldUntil(now, period)
			isHeld := !held.IsZero()
			if next != s.want || isHeld != (s.held > 0) || isHeld && held.Sub(now) != s.held ||
				h.IsContested(now, period) != s.isContested {
				t.Errorf("%s, step %d: %+v, held until %s, contested %t; want %+v", name, i, next, held,
					h.IsContested(now, period), s)
			}
			if !isHeld && s.replicas != 4 {
				h.Wrote(now, 4)
			}
		}
	}
}

// TestUnknownWrite: if a write may have failed, another count is no override.
func TestUnknownWrite(t *testing.T) {
	var h Overrides
	h.Wrote(start, 4)
	h.Forget()
	if h.Observe(start.Add(time.Second), 2) {
		t.Error("a count that may not have been written is overridden")
	}
}
