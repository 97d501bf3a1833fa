package status

import (
	"time"

	"golang.org/x/time/rate"

	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/workloadstatus"
)

const (
	// leastPace is the number of statuses a second that may always be written for their numbers alone.
	leastPace = 10
	// paceMargin is the factor by which the limit exceeds the needed rate.
	paceMargin = 1.25
	// freshInterval is the largest age of a WorkloadAutoscaler's numbers at a decision while they change clearly. As there
	// is a decision every 15 s at least, by default, kubectl get shows none that are older. Otherwise they are written
	// once in the status interval, as those of an HPA.
	freshInterval = 10 * time.Second
)

// SetCount sets the number of HPAs and WorkloadAutoscalers, which limits the writes for numbers alone.
func (w *Writer) SetCount(hpas, workloads int) {
	w.numbers.SetLimit(paceOf(hpas, workloads, w.StatusInterval))
}

// paceOf returns the limit on status writes for their numbers alone, per second: the rate at which all HPAs and
// WorkloadAutoscalers are written once in their interval, with a margin. Without it, objects that were first written
// together, as all are at the start, would be written together again every interval, and would overload the API server.
func paceOf(hpas, workloads int, interval time.Duration) rate.Limit {
	if interval <= 0 {
		return rate.Inf
	}
	needed := float64(hpas)/interval.Seconds() + float64(workloads)/min(interval, freshInterval).Seconds()
	return rate.Limit(max(leastPace, paceMargin*needed))
}

// isWorthWriting reports whether to write the status now. Changes that users wait for are written at once. A condition
// that measurement noise can toggle is written once in an interval, and so are numbers, which differ each time, if they
// have changed enough; those of a WorkloadAutoscaler earlier if they have changed clearly.
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

// turnOf classifies the change from the stored status.
func (w *Writer) turnOf(u *Update, before, after *observehorizontal.Status) turn {
	was, is, areAll := kubestatus.Turns(before, after)
	if !areAll || len(is) == 0 || w.StatusInterval == 0 {
		return isNews
	}
	return u.Record.last.turns.classify(time.Now(), was, is, w.StatusInterval)
}

// mayWriteNumbers reports whether changed numbers may cause a write: their interval is over, and the limit admits one
// more. Until then no status is computed for them.
func (w *Writer) mayWriteNumbers(u *Update) bool {
	interval := w.StatusInterval
	if u.Autoscaler.IsWorkload() {
		interval = min(interval, freshInterval)
	}
	return time.Since(u.Record.last.written) >= interval && w.numbers.TokensAt(u.Start) >= 1
}

// mayDefer reports whether a status that has been due since then may be left to the next decision if the API server
// does not keep up. An HPA that waits for its write is not decided meanwhile, and at the start all have a status to
// write. The status of a scale is written at once, conditions after a sync period at most; a write of numbers alone
// never delays a decision.
func (w *Writer) mayDefer(u *Update, isUrgent bool, due time.Time) bool {
	isRepeatedSoon := w.Triggers && u.IsRepeatedSoon
	isPatient := !isUrgent || due.IsZero() || u.Start.Sub(due) < w.SyncPeriod
	return isRepeatedSoon && !u.Report.Rescaled && isPatient
}
