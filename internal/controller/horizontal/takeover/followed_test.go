package takeover

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// A WorkloadAutoscaler does not act for a moment after an HPA of its target is gone, and is decided again at the end of
// it. It does not pause after another WorkloadAutoscaler.
func TestHandoverPause(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	other, none := horizontal.Refusal{Reason: statusreport.AnotherAutoscaler, Message: "HPA shop/web"}, horizontal.Refusal{}
	ending := other
	ending.IsExpected = true
	for i, isHPA := range []bool{true, false} {
		var f Followed
		for step, c := range []struct {
			after       time.Duration
			other, want horizontal.Refusal
			due         time.Duration
		}{
			{0, none, none, time.Minute},
			{time.Second, other, other, time.Minute},
			{9 * time.Second, none, ending, 12 * time.Second},
			{11 * time.Second, none, ending, 12 * time.Second},
			// KEDA has created the HPA again.
			{11500 * time.Millisecond, other, other, time.Minute},
			{12 * time.Second, none, ending, 15 * time.Second},
			{15 * time.Second, none, none, time.Minute},
			{16 * time.Second, none, none, time.Minute},
		} {
			if !isHPA && c.other == none {
				c.want, c.due = none, time.Minute
			}
			now := start.Add(c.after)
			if got := f.Refusal(now, c.other, isHPA); got != c.want {
				t.Errorf("%d, step %d: %+v, want %+v", i, step, got, c.want)
			}
			if got := f.Due(now, start.Add(time.Minute)).Sub(start); got != c.due {
				t.Errorf("%d, step %d: due after %s, want %s", i, step, got, c.due)
			}
		}
	}
}
