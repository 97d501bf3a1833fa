package status

import (
	"time"

	"golang.org/x/time/rate"

	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/workloadstatus"
)

const (
	// leastPace is how many statuses a second may always be written for their numbers alone.
	leastPace = 10
	// paceMargin is by how much faster than necessary all objects may be written.
	paceMargin = 1.25
	// freshInterval is how old the numbers of a WorkloadAutoscaler may be at a decision while they move clearly. As there
	// is a decision every 15 s at least, by default, kubectl get shows none that are older. At rest they are written once
	// in the status interval, as those of an HPA.
	freshInterval = 10 * time.Second
)

// SetCount says how many HPAs and WorkloadAutoscalers there are, which limits the writes for numbers alone.
func (w *Writer) SetCount(hpas, workloads int) {
	w.numbers.SetLimit(paceOf(hpas, workloads, w.StatusInterval))
}

// paceOf is how many statuses may be written in a second for their numbers alone: as many as it
// takes for so many HPAs and WorkloadAutoscalers in an interval of each, and some more. Objects that were
// first written together, as all are at the start, would be written together again every interval, and the
// API server would have no time for anything else.
func paceOf(hpas, workloads int, interval time.Duration) rate.Limit {
	if interval <= 0 {
		return rate.Inf
	}
	needed := float64(hpas)/interval.Seconds() + float64(workloads)/min(interval, freshInterval).Seconds()
	return rate.Limit(max(leastPace, paceMargin*needed))
}

// isWorthWriting reports whether status is to be written now. What people wait for is written at
// once. A condition that measurement noise can toggle is written once in an interval, and so are
// numbers, which are never the same twice, if they have moved; those of a WorkloadAutoscaler earlier if they have moved
// clearly.
func (w *Writer) isWorthWriting(u *Update, before, after *observehorizontal.Status, isUrgent bool) bool {
	if isUrgent || w.StatusInterval == 0 {
		return true
	}
	if kubestatus.Turned(before, after) && time.Since(u.Record.last.turned) >= w.StatusInterval {
		return true
	}
	if !w.mayWriteNumbers(u) {
		return false
	}
	if time.Since(u.Record.last.written) < w.StatusInterval {
		return workloadstatus.HasMovedClearly(u.Autoscaler, u.decided(after))
	}
	return kubestatus.Moved(before, after) ||
		u.Autoscaler.IsWorkload() && workloadstatus.HasMoved(u.Autoscaler, u.decided(after))
}

// turnOf is what the change from the status that is shown is.
func (w *Writer) turnOf(u *Update, before, after *observehorizontal.Status) turn {
	was, is, areAll := kubestatus.Turns(before, after)
	if !areAll || len(is) == 0 || w.StatusInterval == 0 {
		return isNews
	}
	return u.Record.last.turns.judge(time.Now(), was, is, w.StatusInterval)
}

// mayWriteNumbers reports whether numbers may be a reason to write: the interval is over in which
// they are none, and the pace allows one more. Until then no status is made for them.
func (w *Writer) mayWriteNumbers(u *Update) bool {
	interval := w.StatusInterval
	if u.Autoscaler.IsWorkload() {
		interval = min(interval, freshInterval)
	}
	return time.Since(u.Record.last.written) >= interval && w.numbers.TokensAt(u.Start) >= 1
}

// mayDefer reports whether a status that is due since then may be left to the next decision where
// the API server does not keep up. An HPA that waits for its write is not decided meanwhile, and
// all have a status to write at the start. A scaling is written at once, conditions after a sync
// period at most; numbers alone never keep their HPA from being decided.
func (w *Writer) mayDefer(u *Update, isUrgent bool, due time.Time) bool {
	isRepeatedSoon := w.Triggers && u.IsRepeatedSoon
	isPatient := !isUrgent || due.IsZero() || u.Start.Sub(due) < w.SyncPeriod
	return isRepeatedSoon && !u.Report.Rescaled && isPatient
}
