package convert

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// defaultCPUUtilization is the API server's target of an HPA without metrics.
const defaultCPUUtilization = 80

// complete sets defaults of an HPA's spec that a WorkloadAutoscaler's has to spell out.
func (r *Result) complete() {
	spec := &r.WorkloadAutoscaler.Spec
	if len(spec.Metrics) == 0 {
		spec.Metrics = []plimsollv1alpha1.MetricSpec{{
			Type: plimsollv1alpha1.ResourceMetricSourceType,
			Resource: &plimsollv1alpha1.ResourceMetricSource{Name: "cpu", Target: plimsollv1alpha1.MetricTarget{
				Type: plimsollv1alpha1.UtilizationMetricType, AverageUtilization: ptr.To[int32](defaultCPUUtilization),
			}},
		}}
		r.Note("spec.metrics", "an HPA without metrics has CPU at %d %% of the request, which is written out",
			defaultCPUUtilization)
	}
	for i := range spec.Metrics {
		r.oneTarget(fmt.Sprintf("spec.metrics[%d]", i), &spec.Metrics[i])
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 {
		spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{}
		r.Note("spec.minReplicas", "0 needs scaleToZero, which is added: the last replica goes when no metric has been "+
			"active for %d s", plimsollv1alpha1.DefaultCooldownSeconds)
	}
	r.Finish()
}

// Finish gives each metric a name, and bounds the replica counts.
func (r *Result) Finish() {
	spec := &r.WorkloadAutoscaler.Spec
	nameMetrics(spec.Metrics)
	if most := int32(plimsollv1alpha1.MostReplicas); spec.MaxReplicas > most {
		r.Note("spec.maxReplicas", "%d becomes %d, the most that a WorkloadAutoscaler may have", spec.MaxReplicas, most)
		spec.MaxReplicas = most
	}
}

// oneTarget keeps the value of a target that an HPA uses, and sets its type. An HPA accepts other values and another
// type beside it; only a metric of type Object uses the type.
func (r *Result) oneTarget(at string, m *plimsollv1alpha1.MetricSpec) {
	t := m.Target()
	if t == nil {
		return
	}
	before := *t
	kind, isValid := typeOf(m, t)
	if !isValid {
		return // An HPA cannot have it, and the API server refuses the WorkloadAutoscaler.
	}
	*t = plimsollv1alpha1.MetricTarget{Type: kind}
	switch {
	case kind == plimsollv1alpha1.ValueMetricType && before.Value != nil:
		t.Value = before.Value
	case kind == plimsollv1alpha1.AverageValueMetricType && before.AverageValue != nil:
		t.AverageValue = before.AverageValue
	case kind == plimsollv1alpha1.UtilizationMetricType && before.AverageUtilization != nil:
		t.AverageUtilization = before.AverageUtilization
	default:
		*t = before // An HPA does not use it, or cannot have it.
		return
	}
	if kind != before.Type {
		r.Note(at+".target.type", "%s becomes %s: an HPA goes by the value that is set", before.Type, kind)
	}
}

// typeOf returns the type of the target that an HPA uses. It is invalid if an HPA cannot have such a target.
func typeOf(
	m *plimsollv1alpha1.MetricSpec, t *plimsollv1alpha1.MetricTarget,
) (kind plimsollv1alpha1.MetricTargetType, isValid bool) {
	isKnown := t.Type == plimsollv1alpha1.ValueMetricType || t.Type == plimsollv1alpha1.AverageValueMetricType ||
		t.Type == plimsollv1alpha1.UtilizationMetricType
	isResource := m.Resource != nil || m.ContainerResource != nil
	switch {
	case !isKnown, isResource && t.AverageValue != nil && t.AverageUtilization != nil,
		m.External != nil && t.AverageValue != nil && t.Value != nil:
		return "", false
	case m.Object != nil:
		return t.Type, true
	case t.AverageValue != nil:
		return plimsollv1alpha1.AverageValueMetricType, true
	case isResource:
		return plimsollv1alpha1.UtilizationMetricType, true
	case m.External != nil:
		return plimsollv1alpha1.ValueMetricType, true
	}
	return t.Type, true
}

// nameMetrics gives each metric a unique name. Metrics that have one already keep it.
func nameMetrics(metrics []plimsollv1alpha1.MetricSpec) {
	isTaken := map[string]bool{}
	for i := range metrics {
		m := &metrics[i]
		if isTaken[m.Name] {
			m.Name = ""
		}
		isTaken[m.Name] = true
	}
	for i := range metrics {
		m := &metrics[i]
		if m.Name != "" {
			continue
		}
		base := label(measured(m))
		m.Name = base
		for n := 2; isTaken[m.Name]; n++ {
			end := fmt.Sprintf("-%d", n)
			m.Name = strings.TrimRight(base[:min(len(base), validation.DNS1123LabelMaxLength-len(end))], "-") + end
		}
		isTaken[m.Name] = true
	}
}

// measured returns the text that a metric is named after.
func measured(m *plimsollv1alpha1.MetricSpec) string {
	switch {
	case m.Resource != nil:
		return m.Resource.Name
	case m.ContainerResource != nil:
		return m.ContainerResource.Container + "-" + m.ContainerResource.Name
	case m.Pods != nil:
		return m.Pods.Metric.Name
	case m.Object != nil:
		return m.Object.Metric.Name
	case m.External != nil:
		return m.External.Metric.Name
	case m.ExternalScaler != nil && m.ExternalScaler.MetricName != "":
		return m.ExternalScaler.MetricName
	case m.Scaler != nil:
		return m.Scaler.Type
	default:
		return string(m.Type)
	}
}

var notOfLabel = regexp.MustCompile(`[^a-z0-9]+`)

// label converts a text to a metric's name: letters, digits and dashes.
func label(text string) string {
	text = strings.Trim(notOfLabel.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if text == "" {
		return "metric"
	}
	return strings.TrimRight(text[:min(len(text), validation.DNS1123LabelMaxLength)], "-")
}
