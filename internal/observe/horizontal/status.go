package horizontal

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// Status is a status in one form for both kinds. Its writers add the fields of their kind.
type Status struct {
	Counts
	// Conditions are in the order in which they were first set, without those of a WorkloadAutoscaler that summarize
	// others.
	Conditions []condition.Condition
	Metrics    []MetricValue
}

// MetricValue is the value of a metric in a status. It is empty for a metric without a value.
type MetricValue struct {
	Type                source.Type
	Value, AverageValue *resource.Quantity
	AverageUtilization  *int32
	// isKept is true for the value in the old status, rather than of the decision.
	isKept bool
}

// Status returns the object's status.
func (a Autoscaler) Status() Status {
	s := Status{Counts: a.Counts(), Conditions: a.conditions()}
	if n := a.numShown(); n > 0 {
		s.Metrics = make([]MetricValue, n)
	}
	for i := range s.Metrics {
		s.Metrics[i] = a.shown(i)
	}
	return s
}

// StatusAfter returns the object's status after the decision. The object is only read. at is the time of the report,
// which conditions that change and a scale write get.
func StatusAfter(a Autoscaler, d *horizontal.Decision, r *statusreport.Report, at time.Time) Status {
	status := a.Status()
	for _, c := range r.Conditions {
		c.Since = at
		status.Conditions, _ = condition.Unsorted.Set(status.Conditions, c)
	}
	if r.Counts || a.IsWorkload() {
		// An HPA whose target cannot be read is not observed, as upstream.
		generation := a.Generation
		status.ObservedGeneration = &generation
	}
	if !r.Counts {
		return status
	}
	status.CurrentReplicas = r.CurrentReplicas
	switch {
	case r.DesiredReplicas != nil:
		status.DesiredReplicas = *r.DesiredReplicas
	case a.IsWorkload() && status.DesiredReplicas == 0:
		// No count was ever computed: the present one stays. An HPA's 0 is upstream's.
		status.DesiredReplicas = d.Desired
	}
	if r.Rescaled {
		now := metav1.NewTime(at)
		status.LastScaleTime = &now
	}
	shown := status.Metrics
	status.Metrics = nil
	if r.ShowMetrics {
		status.Metrics = metricsAfter(a, shown, d.Metrics)
	}
	return status
}

// metricsAfter returns one entry for each metric of the spec; that of a metric that could not be computed is empty, as
// upstream. One without values yet keeps its own.
func metricsAfter(a Autoscaler, shown []MetricValue, results []metric.Result) []MetricValue {
	values := make([]MetricValue, min(a.NumMetrics(), len(results)))
	for i := range values {
		m := a.Metric(i)
		switch {
		case results[i].Failure != nil:
		case results[i].Pending && i < len(shown) && shown[i].Type == m.Type:
			values[i] = shown[i]
		case results[i].Pending:
		default:
			values[i] = valueAfter(&m, &results[i])
		}
	}
	return values
}

func valueAfter(m *Metric, r *metric.Result) MetricValue {
	v := MetricValue{Type: m.Type}
	isResource := m.Type == source.Resource || m.Type == source.ContainerResource
	switch {
	case isResource && m.Name == string(corev1.ResourceMemory):
		// In powers of two, as metrics-server prints it.
		v.AverageValue = resource.NewMilliQuantity(r.Milli, resource.BinarySI)
	case m.IsTotal:
		v.Value = resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	default:
		v.AverageValue = resource.NewMilliQuantity(r.Milli, resource.DecimalSI)
	}
	if isResource && m.Target.AverageValue == nil {
		percent := r.Percent
		v.AverageUtilization = &percent
	}
	return v
}

// Event is an event on the HPA, in the API's form.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Events returns the report's events, in their order.
func Events(r *statusreport.Report) []Event {
	events := make([]Event, len(r.Events))
	for i, e := range r.Events {
		events[i] = Event{Type: corev1.EventTypeNormal, Reason: e.Reason, Message: e.Message}
		if e.Warning {
			events[i].Type = corev1.EventTypeWarning
		}
	}
	return events
}
