package workloadstatus

import (
	"cmp"
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// limitWord is a limit in one word, as conditions have their reasons.
func limitWord(l projection.Limit) string {
	var word strings.Builder
	for part := range strings.SplitSeq(l.Name(), "_") {
		word.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return word.String()
}

const (
	// mostMetrics is how many metrics kubectl shows of an HPA.
	mostMetrics = 2
	// widestMetrics is how many columns two metrics may take: a line of kubectl get then fits in 120.
	widestMetrics = 40
)

// metricsText is the first metrics' names, current values and targets, these as kubectl get hpa shows them.
func (w *Decided) metricsText(a observehorizontal.Autoscaler, metrics []plimsollv1alpha1.MetricStatus) string {
	var parts []string
	specs, own := a.Spec.Metrics, a.Workload.Spec.Metrics
	for i := range specs[:min(len(specs), mostMetrics)] {
		var status plimsollv1alpha1.MetricStatus
		if i < len(metrics) {
			status = metrics[i]
		}
		text, name := metricText(&specs[i], &status), sources.Name(&own[i])
		if name != "" {
			text = w.ownText(&own[i], i, &status)
		}
		if name = cmp.Or(own[i].Name, name); name != "" {
			text = name + ": " + text
		}
		if len(parts) > 0 && len(parts[0])+len(", ")+len(text) > widestMetrics {
			break
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ")
	if more := len(specs) - len(parts); more > 0 {
		text += fmt.Sprintf(" + %d more...", more)
	}
	return text
}

func metricText(m *autoscalingv2.MetricSpec, s *plimsollv1alpha1.MetricStatus) string {
	switch {
	case m.Resource != nil:
		return resourceText(&m.Resource.Target, s)
	case m.ContainerResource != nil:
		return resourceText(&m.ContainerResource.Target, s)
	case m.Pods != nil:
		return ratioText(s.AverageValue, m.Pods.Target.AverageValue)
	case m.Object != nil:
		return wholeText(&m.Object.Target, s)
	case m.External != nil:
		return wholeText(&m.External.Target, s)
	}
	return "<unknown type>"
}

// ownText is a metric that Plimsoll reads itself. The target of an external scaler may come with its values.
func (w *Decided) ownText(m *plimsollv1alpha1.MetricSpec, i int, s *plimsollv1alpha1.MetricStatus) string {
	target := m.Target()
	if target == nil {
		target = &plimsollv1alpha1.MetricTarget{}
		if i < len(w.Decision.Metrics) && w.Decision.Metrics[i].TargetMilli > 0 {
			own := resource.NewMilliQuantity(w.Decision.Metrics[i].TargetMilli, resource.DecimalSI)
			target.Value, target.AverageValue = own, own
		}
	}
	if sources.IsTotal(m) {
		return ratioText(s.Value, target.Value)
	}
	return ratioText(s.AverageValue, target.AverageValue) + " (avg)"
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

func wholeText(t *autoscalingv2.MetricTarget, v *plimsollv1alpha1.MetricStatus) string {
	if t.AverageValue != nil {
		return ratioText(v.AverageValue, t.AverageValue) + " (avg)"
	}
	return ratioText(v.Value, t.Value)
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
