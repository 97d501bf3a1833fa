package oracle

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
)

func (g *generator) newSpec() autoscalingv2.HorizontalPodAutoscalerSpec {
	spec := autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target},
		MaxReplicas:    int32(pick(g, 1, 3, 5, 10, 10, 20, 20, 40)),
		Behavior:       g.behavior(),
	}
	if g.kind != "Deployment" {
		spec.ScaleTargetRef.APIVersion, spec.ScaleTargetRef.Kind = "v1", g.kind
	}
	if g.trouble(100) {
		spec.ScaleTargetRef.APIVersion = pick(g, "a/b/c", "nowhere/v1")
	}
	for i := range pick(g, 1, 1, 1, 2, 2, 3) {
		spec.Metrics = append(spec.Metrics, g.metric(i))
	}
	if g.chance(25) {
		// The API server's default is 80 % of cpu.
		spec.Metrics = nil
	}
	if g.trouble(40) {
		g.spoil(spec.Metrics)
	}
	spec.MinReplicas = g.minReplicas(spec.Metrics, spec.MaxReplicas)
	return defaulted(spec)
}

func defaulted(spec autoscalingv2.HorizontalPodAutoscalerSpec) autoscalingv2.HorizontalPodAutoscalerSpec {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: spec}
	defaults.SetDefaults_HorizontalPodAutoscaler(hpa)
	return hpa.Spec
}

// minReplicas may be 0 only with an Object or External metric.
func (g *generator) minReplicas(metrics []autoscalingv2.MetricSpec, most int32) *int32 {
	n := int32(pick(g, 1, 1, 1, 2, 3, 5))
	for i := range metrics {
		if (metrics[i].Object != nil || metrics[i].External != nil) && (g.zero || g.chance(4)) {
			n = 0
		}
	}
	n = min(n, most)
	return &n
}

func (g *generator) metric(i int) autoscalingv2.MetricSpec {
	identifier := autoscalingv2.MetricIdentifier{Name: fmt.Sprintf("m%d", i)}
	if g.chance(4) {
		identifier.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"verb": "GET"}}
	}
	kind := pick(g, 0, 0, 0, 1, 2, 3, 4, 4)
	if g.zero && g.IntN(6) > 0 {
		kind = pick(g, 3, 4)
	}
	switch kind {
	case 0:
		name := pick(g, corev1.ResourceCPU, corev1.ResourceCPU, corev1.ResourceMemory)
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: g.resourceTarget(name)}}
	case 1:
		name := pick(g, corev1.ResourceCPU, corev1.ResourceMemory)
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: name, Container: pick(g, "main", "main", "main", "side", "sidecar"), Target: g.resourceTarget(name),
			}}
	case 2:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{Metric: identifier, Target: averageTarget(g.targetMilli())}}
	case 3:
		described := autoscalingv2.CrossVersionObjectReference{
			APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "front",
		}
		if g.chance(3) {
			described = autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Namespace", Name: namespace}
		}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType,
			Object: &autoscalingv2.ObjectMetricSource{DescribedObject: described, Metric: identifier, Target: g.outerTarget()}}
	default:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: identifier, Target: g.outerTarget()}}
	}
}

func (g *generator) targetMilli() int64 {
	if g.wild && g.chance(4) {
		return pick[int64](g, 1<<53, 1<<62, 9_300_000_000_000_000)
	}
	return pick[int64](g, 100, 1000, 1500, 7777, 50_000, 100_000, 1)
}

func (g *generator) resourceTarget(name corev1.ResourceName) autoscalingv2.MetricTarget {
	if g.IntN(3) > 0 {
		percent := int32(pick(g, 10, 50, 50, 70, 80, 100, 130))
		return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}
	}
	if name == corev1.ResourceMemory {
		return averageTarget(pick[int64](g, 1<<20, 100<<20, 123_456_789) * 1000)
	}
	return averageTarget(pick[int64](g, 10, 100, 333))
}

func (g *generator) outerTarget() autoscalingv2.MetricTarget {
	if g.IntN(2) == 0 {
		return averageTarget(g.targetMilli())
	}
	value := resource.NewMilliQuantity(g.targetMilli(), resource.DecimalSI)
	return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value}
}

func averageTarget(milli int64) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{
		Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewMilliQuantity(milli, resource.DecimalSI),
	}
}

func (g *generator) behavior() *autoscalingv2.HorizontalPodAutoscalerBehavior {
	if !g.zero && g.IntN(5) < 2 {
		return nil
	}
	b := &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	if g.zero || g.IntN(4) > 0 {
		b.ScaleUp = g.rules()
	}
	if g.IntN(4) > 0 {
		b.ScaleDown = g.rules()
	}
	return b
}

func (g *generator) rules() *autoscalingv2.HPAScalingRules {
	r := &autoscalingv2.HPAScalingRules{}
	if g.IntN(2) == 0 {
		seconds := int32(pick(g, 0, 0, 15, 30, 60, 300, 3600))
		r.StabilizationWindowSeconds = &seconds
	}
	if g.IntN(3) == 0 {
		which := pick(g, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect,
			autoscalingv2.DisabledPolicySelect)
		r.SelectPolicy = &which
	}
	if g.IntN(4) == 0 {
		r.Tolerance = resource.NewMilliQuantity(int64(pick(g, 0, 1, 50, 100, 250, 1000, 3000)), resource.DecimalSI)
	}
	few := g.zero && g.IntN(3) > 0
	for i := range pick(g, 0, 1, 1, 2, 3) {
		if few && i > 0 {
			break
		}
		policy := autoscalingv2.HPAScalingPolicy{Type: pick(g, autoscalingv2.PodsScalingPolicy,
			autoscalingv2.PercentScalingPolicy),
			PeriodSeconds: int32(pick(g, 1, 15, 15, 30, 60, 61, 300, 1800))}
		if few {
			policy.Type = autoscalingv2.PercentScalingPolicy
		}
		policy.Value = int32(pick(g, 1, 2, 4, 10))
		if policy.Type == autoscalingv2.PercentScalingPolicy {
			policy.Value = int32(pick(g, 1, 10, 25, 50, 100, 150))
		}
		if g.wild && g.chance(10) {
			policy.Value = 1<<31 - 1
		}
		r.Policies = append(r.Policies, policy)
	}
	return r
}

// spoil makes metrics what validation lets pass and no controller can compute.
func (g *generator) spoil(metrics []autoscalingv2.MetricSpec) {
	bogus := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "verb", Operator: "Bogus"}}}
	for i := range metrics {
		switch m := &metrics[i]; {
		case g.chance(5):
			// A kind that this version does not know.
			m.Type = "Weather"
		case m.Pods != nil:
			m.Pods.Metric.Selector = bogus
		case m.External != nil:
			m.External.Metric.Selector = bogus
		case m.Object != nil && g.chance(2):
			m.Object.Metric.Selector = bogus
		case m.Object != nil:
			m.Object.Target.Type = autoscalingv2.UtilizationMetricType
		}
	}
}
