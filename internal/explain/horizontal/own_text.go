package horizontal

import (
	"cmp"
	"fmt"
	"strings"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// ownMetric is metric i of a result as far as Plimsoll reads it itself; for other metrics there is nothing to print.
type ownMetric struct {
	*Result
	i int
}

func (m ownMetric) isOwn() bool { return m.Step.Autoscaler().IsOwn(m.i) }

// write prints what the metric is read from, and what its server says beside its values.
func (m ownMetric) write(p *output.Page) {
	if text := m.readFrom(); text != "" {
		p.Detail("read from", text)
	}
	if activity := m.Decision.Metrics[m.i].Activity; activity != metric.ActivityUnknown {
		p.Detail("activity", activity.String()+", the scaler says")
	}
}

// readFrom is what the metric is read from; empty for one that has a metrics API. Credentials are no part of it.
func (m ownMetric) readFrom() string {
	if !m.isOwn() {
		return ""
	}
	switch spec := &m.Step.Workload.Spec.Metrics[m.i]; {
	case spec.PodEndpoint != nil:
		e := spec.PodEndpoint
		scheme, path := e.Scheme, e.Path
		if scheme == "" {
			scheme = plimsollv1alpha1.HTTPScheme
		}
		if path == "" {
			path = plimsollv1alpha1.DefaultPath
		}
		return fmt.Sprintf("%s://POD:%s%s of %s", strings.ToLower(string(scheme)), e.Port.String(), path,
			exposedBy(e, m.Policy.Metrics[m.i].OtherPods))
	case spec.Prometheus != nil:
		return prometheusText(spec.Prometheus)
	case spec.Scaler != nil:
		return "KEDA's scaler " + spec.Scaler.Type
	default:
		return spec.ExternalScaler.ScalerAddress
	}
}

// exposedBy is whose pods are read, and how their values become one if that is not by summing those of each pod's
// series.
func exposedBy(e *plimsollv1alpha1.PodEndpointMetricSource, others string) string {
	text := "each pod"
	switch {
	case e.Service != "":
		text += " of " + others
	case others != "":
		text += " with " + strings.TrimPrefix(others, "pods ")
	}
	if by := e.Aggregate; others != "" || by != "" && by != plimsollv1alpha1.SumAggregate {
		text += ", " + string(cmp.Or(by, plimsollv1alpha1.SumAggregate))
	}
	return text
}

// prometheusText is the server, and what decides about its answer.
func prometheusText(spec *plimsollv1alpha1.PrometheusMetricSource) string {
	text := spec.ServerAddress
	if spec.Tenant != nil {
		text += ", tenant " + spec.Tenant.ID
	}
	if spec.NamespaceParameter != "" {
		text += ", namespace " + spec.NamespaceParameter
	}
	return text + ", query " + strings.Join(strings.Fields(spec.Query), " ")
}

// pendingText is why there is no value yet.
func (m ownMetric) pendingText() string {
	switch failure := m.elsewhere()[m.i]; {
	case m.isOwn() && failure != "":
		return "only the controller reads it; the object's status says that it cannot: " + summary.WithShortSelectors(failure)
	case m.isOwn() && m.IsHistoryUnknown:
		return "only the controller reads it"
	}
	if len(m.Decision.Metrics[m.i].Groups) > 0 {
		return "no average before the next sync period: all pods started after the last scale-up, " +
			"and may be using CPU for that"
	}
	return "not available yet"
}
