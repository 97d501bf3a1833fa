package horizontal

import (
	"context"
	"errors"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// act carries the decision out and tells of it. A write that has begun is finished also
// while the program ends, and so is the status that tells of it; each call has its own
// deadline.
func (c *Controller) act(ctx context.Context, p *pass, d *horizontal.Decision) error {
	if !c.contested(p).IsZero() {
		p.track.state = horizontal.Settle(p.track.state, horizontal.Outcome{At: time.Now(), Error: errContested.Error()})
		return errContested
	}
	outcome := horizontal.Outcome{At: time.Now()}
	if d.Rescale {
		err := c.rescale(ctx, p, d)
		outcome.At = time.Now()
		if err != nil {
			outcome.Error = err.Error()
		}
		if c.isUnwritten(p, err) {
			p.track.state = horizontal.Settle(p.track.state, outcome)
			return err
		}
		ctx = context.WithoutCancel(ctx)
	}
	p.track.moved, p.track.writing.since = 0, time.Time{}
	p.track.state = horizontal.Settle(p.track.state, outcome)
	report := d.Report(outcome)
	c.tell(ctx, p, d, &report)
	return nil
}

// tell writes status, events, log and metrics from the one report.
func (c *Controller) tell(ctx context.Context, p *pass, d *horizontal.Decision, r *report.Report) {
	for _, event := range observehorizontal.Events(r) {
		c.record(p, event)
	}
	// What a line says is put together only where somebody reads it.
	if log := c.log.V(1); r.Rescaled {
		c.log.Info("scaled", "object", nameOf(p.hpa).String(), "target", targetName(p), "current", d.Current, "desired", d.Desired, "reason", r.Reason)
	} else if log.Enabled() {
		log.Info("decided", "object", nameOf(p.hpa).String(), "target", targetName(p), "current", d.Current, "desired", d.Desired,
			"branch", d.Branch.String(), "error", r.Error)
	}
	c.measure(p, d, r, c.writeStatus(ctx, p, d, r))
}

func (c *Controller) writeStatus(ctx context.Context, p *pass, d *horizontal.Decision, r *report.Report) error {
	s := &p.track.reported
	if !r.Rescaled && c.backsOff(&s.backoff) {
		return nil
	}
	owed := s.owed
	s.owed = time.Time{}
	if !c.mayTell(p) && observehorizontal.IsShown(p.hpa, d, r) {
		return nil
	}
	after := observehorizontal.Status(p.hpa, d, r, time.Now())
	isUrgent := status.Urgent(&p.hpa.Status, &after)
	if !c.worthStatus(p, &after, isUrgent) {
		return nil
	}
	var written *autoscalingv2.HorizontalPodAutoscaler
	var err error
	call := func() { written, err = c.status.Write(context.WithoutCancel(ctx), p.hpa, &after) }
	isDone := false
	switch {
	case !c.mayPutOff(p, r, isUrgent, owed):
		isDone = c.writeInLine(ctx, p, schedule.Earlier(owed, p.start), call) == nil
	case !isUrgent && !c.numbers.AllowN(p.start, 1):
		return nil
	default:
		isDone = c.writeIfFree(ctx, p, call)
	}
	if !isDone {
		if isUrgent {
			s.owed = schedule.Earlier(owed, p.start)
		}
		return nil
	}
	if written != nil && status.Turned(&p.hpa.Status, &after) {
		s.turned = time.Now()
	}
	c.noteStatus(p, written, err)
	return err
}

// noteStatus notes how writing a status went.
func (c *Controller) noteStatus(p *pass, written *autoscalingv2.HorizontalPodAutoscaler, err error) {
	p.track.reported.backoff.Note(err, c.config.SyncPeriod)
	if err != nil {
		c.record(p, observehorizontal.Event{Type: corev1.EventTypeWarning, Reason: "FailedUpdateStatus", Message: causeOf(err)})
		c.log.V(1).Info("status not written", "object", nameOf(p.hpa).String(), "why", err.Error())
	}
	if written != nil {
		p.track.written, p.track.reported.status = written.ResourceVersion, time.Now()
	}
}

// causeOf is the API's own error, which upstream's event repeats.
func causeOf(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return err.Error()
}

// measure counts the decision.
func (c *Controller) measure(p *pass, d *horizontal.Decision, r *report.Report, statusErr error) {
	c.series.Decided(&monitor.Outcome{
		HPA: p.hpa, Metrics: p.policy.Metrics, Decision: d, Report: r,
		IsReferenceInvalid: errors.Is(p.targetErr, scale.ErrReference), StatusErr: statusErr, Began: p.began, Took: p.took,
	})
}

// targetName is the target as upstream's messages name it.
func targetName(p *pass) string {
	ref := p.hpa.Spec.ScaleTargetRef
	return ref.Kind + "/" + p.hpa.Namespace + "/" + ref.Name
}
