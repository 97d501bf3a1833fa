package status

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/workloadstatus"
)

// NewWriter returns a Writer. It makes no call.
func NewWriter(client autoscalingclient.HorizontalPodAutoscalersGetter, cfg *Config) (*Writer, error) {
	hpas, err := kubestatus.New(client, cfg.FieldManager)
	if err != nil {
		return nil, err
	}
	w := &Writer{Config: *cfg, hpas: hpas, numbers: rate.NewLimiter(paceOf(0, 0, cfg.StatusInterval), leastPace)}
	if cfg.WorkloadAutoscalers != nil {
		w.workloads = kubestatus.NewWorkload(cfg.WorkloadAutoscalers.Client, cfg.FieldManager)
	}
	return w, nil
}

// Write records the events of a decision, logs it, and writes the status if that is due. The error is that of the
// status write.
func (w *Writer) Write(ctx context.Context, u *Update) error {
	for _, event := range observehorizontal.Events(&u.Report) {
		w.Event(u.Autoscaler, u.Record, event)
	}
	w.log(u)
	return w.writeStatus(ctx, u)
}

func (w *Writer) log(u *Update) {
	d, r := u.Decision, &u.Report
	// Summaries are costly: compute the arguments only for a line that is written.
	if log := w.Log.V(1); r.Rescaled {
		w.Log.Info("scaled", "object", nameOf(u.Autoscaler), "target", u.Autoscaler.TargetName(),
			"current",
			d.Current, "desired", d.Desired, "reason", r.Reason, "summary",
			summary.Of(summary.Input{Decision: d}).Text)
	} else if log.Enabled() {
		log.Info("decided", "object", nameOf(u.Autoscaler), "target", u.Autoscaler.TargetName(),
			"current",
			d.Current, "desired", d.Desired,
			"branch", d.Branch.String(), "err", r.Error)
	}
}

func (w *Writer) writeStatus(ctx context.Context, u *Update) error {
	last, r := &u.Record.last, &u.Report
	if !r.Rescaled && w.Triggers && last.backoff.IsActive() {
		return nil
	}
	due := last.due
	last.due = time.Time{}
	if !w.mayWriteNumbers(u) && observehorizontal.IsShown(u.Autoscaler, u.Decision, r) {
		return nil
	}
	before := u.Autoscaler.Status()
	after := observehorizontal.StatusAfter(u.Autoscaler, u.Decision, r, time.Now())
	turn := w.turnOf(u, &before, &after)
	isUrgent := turn != isFlap && kubestatus.Urgent(&before, &after)
	if !w.isWorthWriting(u, &before, &after, isUrgent) {
		return nil
	}
	var version string
	var err error
	call := func() { version, err = w.store(context.WithoutCancel(ctx), u, &after) }
	isDone := false
	switch {
	case !w.mayDefer(u, isUrgent, due):
		isDone = w.writeQueued(ctx, u, schedule.Earlier(due, u.Start), call)
	case !isUrgent && !w.numbers.AllowN(u.Start, 1):
		return nil
	default:
		isDone = w.writeIfFree(ctx, u, call)
	}
	if !isDone {
		if isUrgent {
			last.due = schedule.Earlier(due, u.Start)
		}
		return nil
	}
	if version != "" && kubestatus.Turned(&before, &after) {
		last.turn(turn)
	}
	w.recordResult(u, version, err)
	return err
}

// store writes the status of the object's kind, and returns the object's new resource version.
func (w *Writer) store(
	ctx context.Context, u *Update, after *observehorizontal.Status,
) (version string, err error) {
	if u.Autoscaler.IsWorkload() {
		status := workloadstatus.Of(u.Autoscaler, u.decided(after))
		return w.workloads.Write(ctx, u.Autoscaler.Workload, &status)
	}
	status := observehorizontal.StatusOfHPA(u.Autoscaler.HPA, after)
	return w.hpas.Write(ctx, u.Autoscaler.HPA, &status)
}

// decided returns the inputs of a WorkloadAutoscaler's status.
func (u *Update) decided(after *observehorizontal.Status) *workloadstatus.Decided {
	return &workloadstatus.Decided{Status: after, Decision: u.Decision, Policy: u.Policy, Next: u.Next}
}

// recordResult records the result of a write, with a warning event and a backoff after a failure.
func (w *Writer) recordResult(u *Update, version string, err error) {
	u.Record.last.backoff.Note(err, w.SyncPeriod)
	if err != nil {
		w.Warn(u.Autoscaler, u.Record, "FailedUpdateStatus", causeOf(err))
		w.Log.V(1).Info("status not written", "object", nameOf(u.Autoscaler), "err", err)
	}
	if version != "" {
		u.Record.Written(version)
	}
}

// causeOf returns the API's own error, which upstream's event repeats.
func causeOf(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return err.Error()
}

// writeQueued writes a status that cannot wait for the next decision. It waits for a slot as long as a call may take.
func (w *Writer) writeQueued(ctx context.Context, u *Update, since time.Time, call func()) (isDone bool) {
	w.Workers.Yield(func() {
		if err := w.Writes.Acquire(ctx, KindOf(u.Autoscaler), since, kubestatus.DefaultTimeout); err != nil {
			return
		}
		defer w.Writes.Release(KindOf(u.Autoscaler))
		if isDone = mayWrite(ctx, u); isDone {
			call()
		}
	})
	return isDone
}

// writeIfFree writes a status if a slot is free.
func (w *Writer) writeIfFree(ctx context.Context, u *Update, call func()) (isDone bool) {
	if !w.Writes.TryAcquire(KindOf(u.Autoscaler)) {
		return false
	}
	w.Workers.Yield(func() {
		defer w.Writes.Release(KindOf(u.Autoscaler))
		if isDone = mayWrite(ctx, u); isDone {
			call()
		}
	})
	return isDone
}

// mayWrite reports whether a status may still be written. An edit of the object does not matter: the status names the
// generation that it observed.
func mayWrite(ctx context.Context, u *Update) bool {
	return !u.Contest.IsPaused() && ctx.Err() == nil
}

// Begin drops the state of a deleted HPA of the same name. If another instance wrote the status, the interval for
// numbers starts at that write.
func (w *Writer) Begin(r *Record, autoscaler observehorizontal.Autoscaler, now time.Time) {
	r.last = last{}
	for i := range autoscaler.ManagedFields {
		entry := &autoscaler.ManagedFields[i]
		if entry.Subresource != "status" || entry.Manager != w.FieldManager || entry.Time == nil {
			continue
		}
		// A time in the future comes from a fast clock: the time of the write is unknown.
		if entry.Time.After(r.last.written) && !entry.Time.After(now) {
			r.last.written = entry.Time.Time
		}
	}
}
