package monitor

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Outcome is a decision and the result of carrying it out.
type Outcome struct {
	Autoscaler observehorizontal.Autoscaler
	Metrics    []source.Spec
	Decision   *horizontal.Decision
	// Observation is the decision's input.
	Observation *horizontal.Observation
	Report      *statusreport.Report
	// IsReferenceInvalid is set if spec.scaleTargetRef cannot name any object.
	IsReferenceInvalid bool
	// StatusErr is the error of the status write.
	StatusErr error
	// Began is when a worker started on the HPA.
	Began time.Time
	// Answers has the latency of each metric's response.
	Answers interface {
		Took(metric int) time.Duration
	}
}

// Decided counts a decision.
func (m *Series) Decided(o *Outcome) {
	m.decisions.record(o.Autoscaler.Key(), o.Metrics, o.Decision,
		o.Report.DesiredReplicas)
	m.decisions.recordPods(o.Autoscaler.Key(), o.Observation)
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

// failure returns the value of the label error: spec for a mistake in the HPA's spec, internal otherwise. A failure
// after the metrics takes precedence.
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

// invalidType is the reason for a metric type that does not exist: a mistake in the spec, not an internal failure.
const invalidType = "InvalidMetricSourceType"

// firstFailure returns the reason of the first failed metric, by which upstream counts a decision.
func firstFailure(d *horizontal.Decision) string {
	for i := range d.Metrics {
		if d.Metrics[i].Failure != nil {
			return d.Metrics[i].Failure.Reason
		}
	}
	return ""
}
