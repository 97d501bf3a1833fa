package monitor

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Outcome is a decision and what became of it.
type Outcome struct {
	Autoscaler observehorizontal.Autoscaler
	Metrics    []source.Spec
	Decision   *horizontal.Decision
	// Observation is what it was decided on.
	Observation *horizontal.Observation
	Report      *statusreport.Report
	// IsReferenceInvalid says that spec.scaleTargetRef cannot name anything.
	IsReferenceInvalid bool
	// StatusErr is why status was not written.
	StatusErr error
	// Began is when a worker began with the HPA.
	Began time.Time
	// Answers say how long each metric's answer took.
	Answers interface {
		Took(metric int) time.Duration
	}
}

// Decided counts a decision.
func (m *Series) Decided(o *Outcome) {
	m.decisions.note(o.Autoscaler.Key(), o.Metrics, o.Decision,
		o.Report.DesiredReplicas)
	m.decisions.see(o.Autoscaler.Key(), o.Observation)
	action := actionNone
	if o.Report.Rescaled {
		action = actionOf(o.Decision.Current, o.Decision.Desired)
	}
	m.reconciled(action, o.failure(), time.Since(o.Began))
	for i := range o.Decision.Metrics {
		m.countMetric(o, i)
	}
}

// Forget drops the series of an HPA's last decision.
func (m *Series) Forget(key observe.Key) { m.decisions.forget(key) }

func (m *Series) countMetric(o *Outcome, i int) {
	result := &o.Decision.Metrics[i]
	action, failure := actionOf(o.Autoscaler.Counts().CurrentReplicas, result.Replicas), errorNone
	if result.Failure != nil {
		action, failure = actionNone, errorInternal
		if result.Failure.Reason == invalidType {
			failure = errorSpec
		}
	}
	m.computed(action, failure, string(o.Metrics[i].Type), o.Answers.Took(i))
}

// failure is the label for what went wrong. A mistake in the HPA's spec is distinguished from
// internal failures. Of those, one that comes after the metrics takes precedence.
func (o *Outcome) failure() string {
	d, r := o.Decision, o.Report
	isUnwritten := o.StatusErr != nil && d.Branch != horizontal.BranchFailed
	switch {
	case o.IsReferenceInvalid:
		return errorSpec
	case r.Error == "" && !isUnwritten:
		return errorNone
	case !isUnwritten && d.Rescale == r.Rescaled && firstFailure(d) == invalidType:
		return errorSpec
	default:
		return errorInternal
	}
}

// invalidType is the reason of a metric whose type does not exist, which is a mistake in the
// spec, not a failure inside.
const invalidType = "InvalidMetricSourceType"

// firstFailure is the reason of the first metric that failed, which upstream counts a decision
// by.
func firstFailure(d *horizontal.Decision) string {
	for i := range d.Metrics {
		if d.Metrics[i].Failure != nil {
			return d.Metrics[i].Failure.Reason
		}
	}
	return ""
}
