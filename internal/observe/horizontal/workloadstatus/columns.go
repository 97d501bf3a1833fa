package workloadstatus

import (
	"cmp"
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// limitWord returns a limit in one word, like the reasons of conditions.
func limitWord(l projection.Limit) string {
	var word strings.Builder
	for part := range strings.SplitSeq(l.Name(), "_") {
		word.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return word.String()
}

const (
	// mostMetrics is the number of an HPA's metrics that kubectl shows.
	mostMetrics = 2
	// widestMetrics is the maximum width of the column METRICS: a line of kubectl get then fits in 120.
	widestMetrics = 36
)

// metricsText returns the first metrics' names, current values and targets, in the format of kubectl get hpa.
func (w *Decided) metricsText(a observehorizontal.Autoscaler, metrics []plimsollv1alpha1.MetricStatus) string {
	var parts []string
	n := a.NumMetrics()
	for i := range min(n, mostMetrics) {
		var status plimsollv1alpha1.MetricStatus
		if i < len(metrics) {
			status = metrics[i]
		}
		m := a.Metric(i)
		text, name := w.metricText(&m, i, &status), a.Workload.Spec.Metrics[i].Name
		if m.IsOwn {
			name = cmp.Or(name, m.Name)
		}
		if name != "" {
			text = name + ": " + text
		}
		if len(parts) > 0 && len(parts[0])+len(", ")+len(text) > widestMetrics {
			break
		}
		parts = append(parts, text)
	}
	suffix := func() string {
		if more := n - len(parts); more > 0 {
			return fmt.Sprintf(" + %d more", more)
		}
		return ""
	}
	if len(parts) > 1 && len(strings.Join(parts, ", ")+suffix()) > widestMetrics {
		parts = parts[:1]
	}
	more := suffix()
	return cut(strings.Join(parts, ", "), widestMetrics-len(more)) + more
}

func (w *Decided) metricText(m *observehorizontal.Metric, i int, s *plimsollv1alpha1.MetricStatus) string {
	if !m.HasSource {
		return "<unknown type>"
	}
	switch m.Type {
	case source.Resource, source.ContainerResource:
		return resourceText(&m.Target, s)
	case source.Pods:
		return ratioText(s.AverageValue, m.Target.AverageValue)
	case source.Object, source.External:
		if m.Target.AverageValue != nil {
			return ratioText(s.AverageValue, m.Target.AverageValue) + " (avg)"
		}
		return ratioText(s.Value, m.Target.Value)
	}
	return w.ownText(m, i, s)
}

// ownText returns a metric that Plimsoll reads itself. The target of an external scaler may come with its values.
func (w *Decided) ownText(m *observehorizontal.Metric, i int, s *plimsollv1alpha1.MetricStatus) string {
	value, average := m.Target.Value, m.Target.AverageValue
	if m.IsOwnTarget && i < len(w.Decision.Metrics) && w.Decision.Metrics[i].TargetMilli > 0 {
		own := resource.NewMilliQuantity(w.Decision.Metrics[i].TargetMilli, resource.DecimalSI)
		value, average = own, own
	}
	if m.IsTotal {
		return ratioText(s.Value, value)
	}
	return ratioText(s.AverageValue, average) + " (avg)"
}

func resourceText(t *autoscalingv2.MetricTarget, v *plimsollv1alpha1.MetricStatus) string {
	if t.AverageValue != nil {
		return ratioText(v.AverageValue, t.AverageValue)
	}
	value, target := "<unknown>", "<auto>"
	if v.AverageUtilization != nil {
		value = fmt.Sprintf("%d%%", *v.AverageUtilization)
	}
	if t.AverageUtilization != nil {
		target = fmt.Sprintf("%d%%", *t.AverageUtilization)
	}
	return value + "/" + target
}

func ratioText(value, target *resource.Quantity) string {
	text := func(q *resource.Quantity) string {
		if q == nil {
			return "<unknown>"
		}
		return q.String()
	}
	return text(value) + "/" + text(target)
}
