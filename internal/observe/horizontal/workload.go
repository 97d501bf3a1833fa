package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// workloadAdapter is the adapter of WorkloadAutoscalers.
type workloadAdapter plimsollv1alpha1.WorkloadAutoscaler

var _ adapter = (*workloadAdapter)(nil)

func (*workloadAdapter) Kind() observe.Kind { return observe.WorkloadAutoscaler }

func (w *workloadAdapter) Object() runtime.Object { return (*plimsollv1alpha1.WorkloadAutoscaler)(w) }

func (w *workloadAdapter) Target() autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference(w.Spec.ScaleTargetRef)
}

func (w *workloadAdapter) MinReplicas() *int32 { return w.Spec.MinReplicas }

func (w *workloadAdapter) MaxReplicas() int32 { return w.Spec.MaxReplicas }

func (w *workloadAdapter) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	b := w.Spec.Behavior
	if b == nil {
		return nil
	}
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: scalingRulesOf(b.ScaleUp), ScaleDown: scalingRulesOf((*plimsollv1alpha1.ScaleUpRules)(b.ScaleDown)),
	}
}

func scalingRulesOf(r *plimsollv1alpha1.ScaleUpRules) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return nil
	}
	rules := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: r.StabilizationWindowSeconds,
		SelectPolicy:               (*autoscalingv2.ScalingPolicySelect)(r.SelectPolicy), Tolerance: r.Tolerance,
	}
	for _, p := range r.Policies {
		rules.Policies = append(rules.Policies, autoscalingv2.HPAScalingPolicy{
			Type: autoscalingv2.HPAScalingPolicyType(p.Type), Value: p.Value, PeriodSeconds: p.PeriodSeconds,
		})
	}
	return rules
}

func (w *workloadAdapter) extras() *plimsollv1alpha1.WorkloadAutoscalerSpec { return &w.Spec }

func (w *workloadAdapter) spec() any { return &w.Spec }

func (w *workloadAdapter) metrics() any { return &w.Spec.Metrics }

func (w *workloadAdapter) status() any { return &w.Status }

func (w *workloadAdapter) besides() string { return w.Unreadable }

func (w *workloadAdapter) NumMetrics() int { return len(w.Spec.Metrics) }

func (w *workloadAdapter) typeOf(i int) source.Type { return source.Type(w.Spec.Metrics[i].Type) }

func (w *workloadAdapter) Metric(i int) Metric {
	m := &w.Spec.Metrics[i]
	of := Metric{Type: source.Type(m.Type), HasSource: true}
	switch {
	case of.Type == source.Resource && m.Resource != nil:
		of.Name, of.Target = m.Resource.Name, targetOf(&m.Resource.Target)
	case of.Type == source.ContainerResource && m.ContainerResource != nil:
		of.Name, of.Container = m.ContainerResource.Name, m.ContainerResource.Container
		of.Target = targetOf(&m.ContainerResource.Target)
	case of.Type == source.Pods && m.Pods != nil:
		of.identify(identifierOf(&m.Pods.Metric), targetOf(&m.Pods.Target))
	case of.Type == source.Object && m.Object != nil:
		of.identify(identifierOf(&m.Object.Metric), targetOf(&m.Object.Target))
		of.Object = autoscalingv2.CrossVersionObjectReference(m.Object.DescribedObject)
	case of.Type == source.External && m.External != nil:
		of.identify(identifierOf(&m.External.Metric), targetOf(&m.External.Target))
	default:
		of.addOwn(m)
	}
	return of
}

func (m *Metric) addOwn(of *plimsollv1alpha1.MetricSpec) {
	switch {
	case m.Type == source.PodEndpoint && of.PodEndpoint != nil:
		m.Target = targetOf(&of.PodEndpoint.Target)
	case m.Type == source.Prometheus && of.Prometheus != nil:
		m.Target = targetOf(&of.Prometheus.Target)
	case m.Type == source.ExternalScaler && of.ExternalScaler != nil:
		m.targetOfScaler(of.ExternalScaler.Target)
	case m.Type == source.Scaler && of.Scaler != nil:
		m.targetOfScaler(of.Scaler.Target)
	default:
		m.HasSource = false
		return
	}
	m.IsOwn, m.Name = true, sources.Name(of)
	if m.IsTotal = m.Target.AverageValue == nil; m.IsOwnTarget {
		m.IsTotal = m.Target.Type == autoscalingv2.ValueMetricType
	}
}

func identifierOf(m *plimsollv1alpha1.MetricIdentifier) autoscalingv2.MetricIdentifier {
	return autoscalingv2.MetricIdentifier{Name: m.Name, Selector: m.Selector.AsLabelSelector()}
}

// targetOfScaler sets the target of a metric whose scaler may have one of its own.
func (m *Metric) targetOfScaler(t *plimsollv1alpha1.ExternalScalerTarget) {
	if t != nil {
		m.Target = autoscalingv2.MetricTarget{
			Type: autoscalingv2.MetricTargetType(t.Type), Value: t.Value, AverageValue: t.AverageValue,
		}
	}
	m.IsOwnTarget = !t.HasValue()
}

func targetOf(t *plimsollv1alpha1.MetricTarget) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{
		Type: autoscalingv2.MetricTargetType(t.Type), Value: t.Value, AverageValue: t.AverageValue,
		AverageUtilization: t.AverageUtilization,
	}
}

func (w *workloadAdapter) Counts() Counts {
	s := &w.Status
	return Counts{s.ObservedGeneration, s.LastScaleTime, s.CurrentReplicas, s.DesiredReplicas}
}

func (w *workloadAdapter) Condition(kind string) condition.Condition {
	for i := range w.Status.Conditions {
		if c := &w.Status.Conditions[i]; c.Type == kind {
			return readWorkloadCondition(c)
		}
	}
	return condition.Condition{}
}

func (w *workloadAdapter) conditions() []condition.Condition {
	all := make([]condition.Condition, 0, len(w.Status.Conditions))
	for i := range w.Status.Conditions {
		if c := &w.Status.Conditions[i]; !statusreport.IsOverall(c.Type) {
			all = append(all, readWorkloadCondition(c))
		}
	}
	return all
}

func readWorkloadCondition(c *metav1.Condition) condition.Condition {
	return condition.Condition{
		Type: c.Type, Status: condition.Status(c.Status), Reason: c.Reason, Message: c.Message,
		Since: c.LastTransitionTime.Time,
	}
}

func (w *workloadAdapter) numShown() int { return len(w.Status.Metrics) }

// shown is empty without a value, as in the status of an HPA.
func (w *workloadAdapter) shown(i int) MetricValue {
	m := &w.Status.Metrics[i]
	if m.Value == nil && m.AverageValue == nil && m.AverageUtilization == nil {
		return MetricValue{isKept: true}
	}
	return MetricValue{source.Type(m.Type), m.Value, m.AverageValue, m.AverageUtilization, true}
}
