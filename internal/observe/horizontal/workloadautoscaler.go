package horizontal

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// WorkloadAutoscaler is a WorkloadAutoscaler in the loop's form. What an HPA has too is
// translated once, when the cache receives the object; the two share their pointers.
func WorkloadAutoscaler(wla *plimsollv1alpha1.WorkloadAutoscaler) Autoscaler {
	spec := &wla.Spec
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: wla.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: referenceOf(spec.ScaleTargetRef), MinReplicas: spec.MinReplicas, MaxReplicas: spec.MaxReplicas,
			Metrics: make([]autoscalingv2.MetricSpec, len(spec.Metrics)), Behavior: behaviorSpecOf(spec.Behavior),
		},
		Status: commonStatus(&wla.Status),
	}
	for i := range spec.Metrics {
		hpa.Spec.Metrics[i] = metricSpecOf(&spec.Metrics[i])
	}
	return Autoscaler{HorizontalPodAutoscaler: hpa, Workload: wla}
}

// commonStatus is the part of a WorkloadAutoscaler's status that an HPA has too. Conditions that sum up others are not:
// they follow from these.
func commonStatus(s *plimsollv1alpha1.WorkloadAutoscalerStatus) autoscalingv2.HorizontalPodAutoscalerStatus {
	status := autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: s.ObservedGeneration, LastScaleTime: s.LastScaleTime, CurrentReplicas: s.CurrentReplicas,
		DesiredReplicas: s.DesiredReplicas,
	}
	for i := range s.Metrics {
		status.CurrentMetrics = append(status.CurrentMetrics, commonMetric(&s.Metrics[i]))
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if statusreport.IsOverall(c.Type) {
			continue
		}
		status.Conditions = append(status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type:   autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type),
			Status: corev1.ConditionStatus(c.Status), LastTransitionTime: c.LastTransitionTime, Reason: c.Reason,
			Message: c.Message,
		})
	}
	return status
}

// commonMetric is empty where there is no value, as in the status of an HPA.
func commonMetric(m *plimsollv1alpha1.MetricStatus) (status autoscalingv2.MetricStatus) {
	if m.Value == nil && m.AverageValue == nil && m.AverageUtilization == nil {
		return status
	}
	return statusOf(m.Type, autoscalingv2.MetricValueStatus{
		Value: m.Value, AverageValue: m.AverageValue, AverageUtilization: m.AverageUtilization,
	})
}

func referenceOf(r plimsollv1alpha1.CrossVersionObjectReference) autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{Kind: r.Kind, Name: r.Name, APIVersion: r.APIVersion}
}

func behaviorSpecOf(b *plimsollv1alpha1.Behavior) *autoscalingv2.HorizontalPodAutoscalerBehavior {
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

func metricSpecOf(m *plimsollv1alpha1.MetricSpec) autoscalingv2.MetricSpec {
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	if s := m.Resource; s != nil {
		spec.Resource = &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceName(s.Name), Target: targetOf(&s.Target),
		}
	}
	if s := m.ContainerResource; s != nil {
		spec.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceName(s.Name), Container: s.Container, Target: targetOf(&s.Target),
		}
	}
	if s := m.Pods; s != nil {
		spec.Pods = &autoscalingv2.PodsMetricSource{Metric: identifierOf(&s.Metric), Target: targetOf(&s.Target)}
	}
	if s := m.Object; s != nil {
		spec.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: referenceOf(s.DescribedObject), Metric: identifierOf(&s.Metric), Target: targetOf(&s.Target),
		}
	}
	if s := m.External; s != nil {
		spec.External = &autoscalingv2.ExternalMetricSource{
			Metric: identifierOf(&s.Metric), Target: targetOf(&s.Target),
		}
	}
	return spec
}

func identifierOf(m *plimsollv1alpha1.MetricIdentifier) autoscalingv2.MetricIdentifier {
	return autoscalingv2.MetricIdentifier{Name: m.Name, Selector: m.Selector}
}

func targetOf(t *plimsollv1alpha1.MetricTarget) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{
		Type: autoscalingv2.MetricTargetType(t.Type), Value: t.Value, AverageValue: t.AverageValue,
		AverageUtilization: t.AverageUtilization,
	}
}
