package horizontal

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// act carries the decision out and tells of it. What has begun is finished also
// while the program ends; each call has its own deadline.
func (c *Controller) act(ctx context.Context, p *pass, d *decide.Decision) error {
	if _, yes := c.contested(p.track, p.hpa); yes {
		p.track.state = decide.Settle(p.track.state, decide.Outcome{At: time.Now(), Error: "contested"})
		return errors.New("another controller writes the object's status")
	}
	ctx = context.WithoutCancel(ctx)
	outcome := decide.Outcome{At: time.Now()}
	if d.Rescale {
		err := c.rescale(ctx, p, d)
		outcome.At = time.Now()
		if err != nil {
			outcome.Error = err.Error()
		}
		if errors.Is(err, scale.ErrMoved) && p.track.moved < maxOvertaken {
			p.track.moved++
			p.track.state = decide.Settle(p.track.state, outcome)
			return err
		}
	}
	p.track.moved = 0
	p.track.state = decide.Settle(p.track.state, outcome)
	report := d.Report(outcome)
	c.tell(ctx, p, d, &report)
	return nil
}

func (c *Controller) rescale(ctx context.Context, p *pass, d *decide.Decision) error {
	now, err := c.scales.Write(ctx, p.target, d.Desired)
	if now != nil {
		// The next decision may come before the cache shows it.
		c.targets.Saw(p.target.Resource, now)
	}
	return err
}

// tell writes status, events, log and metrics from the one report.
func (c *Controller) tell(ctx context.Context, p *pass, d *decide.Decision, r *decide.Report) {
	object := nameOf(p.hpa)
	for _, event := range observe.Events(r) {
		c.config.Events.Event(p.hpa, event.Type, event.Reason, event.Message)
	}
	if r.Rescaled {
		c.log.Info("scaled", "object", object.String(), "target", targetName(p), "current", d.Current, "desired", d.Desired, "reason", r.Reason)
	} else {
		c.log.V(1).Info("decided", "object", object.String(), "target", targetName(p), "current", d.Current, "desired", d.Desired,
			"branch", d.Branch.String(), "error", r.Error)
	}
	status := observe.Status(p.hpa, d, r, time.Now())
	written, err := c.status.Write(ctx, p.hpa, &status)
	if err != nil {
		c.config.Events.Event(p.hpa, corev1.EventTypeWarning, "FailedUpdateStatus", causeOf(err))
		c.log.V(1).Info("status not written", "object", object.String(), "why", err.Error())
	}
	if written != nil {
		p.track.written = written.ResourceVersion
	}
	c.measure(p, d, r, err)
}

// causeOf is the API's own error, which upstream's event repeats.
func causeOf(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return err.Error()
}

// measure counts the decision in upstream's series.
func (c *Controller) measure(p *pass, d *decide.Decision, r *decide.Report, statusErr error) {
	if r.DesiredReplicas != nil {
		c.metrics.desired.WithLabelValues(p.hpa.Namespace, p.hpa.Name).Set(float64(*r.DesiredReplicas))
	}
	action, failure := actionNone, errorNone
	if r.Rescaled {
		action = actionOf(d.Current, d.Desired)
	}
	switch {
	case errors.Is(p.targetErr, scale.ErrReference):
		failure = errorSpec
	case r.Error != "" || statusErr != nil:
		failure = errorInternal
	}
	c.metrics.reconciled(action, failure, time.Since(p.start))
	for i := range d.Metrics {
		c.countMetric(p, &d.Metrics[i], i)
	}
}

func (c *Controller) countMetric(p *pass, result *metric.Result, i int) {
	action, failure := actionOf(p.hpa.Status.CurrentReplicas, result.Replicas), errorNone
	if result.Failure != nil {
		action, failure = actionNone, errorInternal
		if result.Failure.Reason == "InvalidMetricSourceType" {
			failure = errorSpec
		}
	}
	var took time.Duration
	if i < len(p.answers) {
		took = p.answers[i].took
	}
	c.metrics.computed(action, failure, string(p.policy.Metrics[i].Type), took)
}

// targetName is the target as upstream's messages name it.
func targetName(p *pass) string {
	ref := p.hpa.Spec.ScaleTargetRef
	return ref.Kind + "/" + p.hpa.Namespace + "/" + ref.Name
}
