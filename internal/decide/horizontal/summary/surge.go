package summary

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// raisedBySurge is " (raised by a surge at 10:42:12, 4 without it)", of a count that an earlier surge led to and the
// metrics alone would not; empty without one.
func (w *writer) raisedBySurge() string {
	if w.State == nil || w.Branch != horizontal.BranchMetrics || w.Winner().Source == proposal.Surge {
		return ""
	}
	s, c := &w.State.Surges, &w.State.Count
	isThis := s.Raised == w.Current && c.Replicas == w.Current && !c.RaisedAt().IsZero() && !c.IsForeign
	if !isThis || s.Without >= s.Raised {
		return ""
	}
	return fmt.Sprintf(" (raised by a surge at %s, %d without it)", w.clock(c.RaisedAt()), s.Without)
}

// bySurge is what the surge window saw, and the count that follows from it: "CPU was at 900 % of its target or more for
// 2 s on 4 pods, which needs 36 pods". Where others than these count too, it has how many that are: "and 10 pods at
// 260 % of its target have the load of 26". Less is asked for where few pods show it, or where more pods have not
// helped.
func (w *writer) bySurge() string {
	s := &w.Surge
	needed := arithmetic.Saturate.Ceil32(s.Adjusted * float64(s.Base))
	text := fmt.Sprintf("a surge: %s was at %s for %s on %s, ", w.metricName(s.Metric), atLeast(s.Ratio),
		seconds(s.Span), podsText(s.Counted))
	if s.Base > int64(s.Counted) {
		text += fmt.Sprintf("and %d pods at %s have the load of %d", s.Base, ofTarget(s.Adjusted), needed)
	} else {
		text += "which needs " + podsText(needed)
	}
	switch {
	case s.Replicas >= needed:
		return text
	case s.Counted < surge.Quorum:
		return text + fmt.Sprintf("; it asks for %d, as fewer than %d pods show it", s.Replicas, surge.Quorum)
	}
	return text + fmt.Sprintf("; it asks for %d, as the last pods that came did not help", s.Replicas)
}

// surgeAsks is what the surge window asks for, with what it saw.
func (w *writer) surgeAsks() string {
	s := &w.Surge
	return fmt.Sprintf("a surge (%s at %s for %s) asks for %s", w.metricName(s.Metric), atLeast(s.Ratio),
		seconds(s.Span), countText(s.Replicas))
}

// pastSurge is what the surge window saw when it asked for the count that is held: " for CPU at 900 % of its target or
// more". It is empty where that is no longer known.
func (w *writer) pastSurge() string {
	if w.State == nil {
		return ""
	}
	s, at := &w.State.Surges, w.Stabilized.By.Time
	isThis := !s.Since.IsZero() && !at.Before(s.Since) && !at.After(s.Last)
	if !isThis || s.Metric >= len(w.Policy.Metrics) || !w.isOnlyPerPod(s.Metric) {
		return ""
	}
	return fmt.Sprintf(", for %s at %s", w.metricName(s.Metric), atLeast(s.Ratio))
}

// isOnlyPerPod reports whether no other metric could have had a surge.
func (w *writer) isOnlyPerPod(i int) bool {
	for k := range w.Policy.Metrics {
		if k != i && w.Policy.Metrics[k].IsPerPod() {
			return false
		}
	}
	return true
}
