package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// TestZeroBelowMin: a target that was scaled to zero comes back to a min above zero if no metric can be computed.
func TestZeroBelowMin(t *testing.T) {
	for name, tt := range map[string]struct {
		reading metric.Reading
		min     int32
		// isManual says that another writer scaled it to zero.
		isManual       bool
		upstream, ours int32
	}{
		"failed":                {reading: broken(), min: 2, upstream: 0, ours: 2},
		"computed":              {reading: length(4), min: 2, upstream: 4, ours: 4},
		"computed, below min":   {reading: length(0), min: 2, upstream: 2, ours: 2},
		"awaited":               {reading: metric.Reading{Pending: true}, min: 2},
		"failed, min zero":      {reading: broken()},
		"failed, not by Decide": {reading: broken(), min: 2, isManual: true},
	} {
		t.Run(name, func(t *testing.T) {
			for set, want := range map[divergence.Set]int32{
				divergence.Default: tt.ours, divergence.Default &^ divergence.ZeroBelowMin: tt.upstream,
			} {
				p, o := policy(tt.min, 10), see(0, tt.reading)
				p.Divergences, o.ScaledToZero = set, !tt.isManual
				d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
				if d.Desired != want || d.Rescale != (want > 0) {
					t.Errorf("with %v: %d on %v, want %d", set, d.Desired, d.Branch, want)
				}
			}
		})
	}
}

// TestZeroCondition: whoever scaled the target up, ScaledToZero is over, unless the controller scales it to zero again.
func TestZeroCondition(t *testing.T) {
	for name, tt := range map[string]struct {
		current int32
		reading metric.Reading
		shown   bool
		error   string
		// ours is the condition that is reported, or nothing.
		ours condition.Status
	}{
		"scaled up":                         {2, length(2), true, "", condition.False},
		"scaled up, metrics fail":           {2, broken(), true, "", condition.False},
		"it was not scaled to zero":         {2, length(2), false, "", ""},
		"still at zero":                     {0, length(0), true, "", ""},
		"scaled to zero again":              {1, length(0), true, "", condition.True},
		"to zero again, not written":        {1, length(0), true, "conflict", ""},
		"scaled up further, and unreadable": {2, length(5), true, "conflict", condition.False},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := policy(0, 10), see(tt.current, tt.reading)
			p.DownscaleStabilization, o.ScaledToZero = 0, tt.shown
			s := remembering(past{time.Hour, tt.current})
			d, _ := horizontal.Decide(noon, &p, s, &o)
			var got condition.Status
			for _, c := range d.Report(horizontal.Outcome{At: noon, Error: tt.error}).Conditions {
				if c.Type == statusreport.ScaledToZero {
					got = c.Status
				}
			}
			if got != tt.ours {
				t.Errorf("the condition becomes %q, want %q", got, tt.ours)
			}
		})
	}
}
