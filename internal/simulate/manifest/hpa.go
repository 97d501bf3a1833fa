package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// HPAKind is the kind of what is simulated.
const HPAKind = "HorizontalPodAutoscaler"

// defaultPercent is the target of an object that names no metric.
const defaultPercent = 80

// HPA is the object as autoscaling/v2, with the API server's defaults as far as they
// matter here.
func (o *Object) HPA() (*autoscalingv2.HorizontalPodAutoscaler, error) {
	hpa, err := o.decodeHPA()
	if err == nil {
		complete(hpa)
		err = check(hpa)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", o.Where, HPAKind, o.Name, err)
	}
	return hpa, nil
}

func (o *Object) decodeHPA() (*autoscalingv2.HorizontalPodAutoscaler, error) {
	if err := checkQuantities(o.content, &autoscalingv2.HorizontalPodAutoscaler{}); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(o.content)
	if err != nil {
		return nil, err
	}
	switch version, _ := o.content["apiVersion"].(string); version {
	case "autoscaling/v2":
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		return hpa, yaml.UnmarshalStrict(text, hpa)
	case "autoscaling/v1":
		old := &autoscalingv1.HorizontalPodAutoscaler{}
		if err := yaml.UnmarshalStrict(text, old); err != nil {
			return nil, err
		}
		return fromV1(old), nil
	default:
		return nil, fmt.Errorf("apiVersion %q, want autoscaling/v2 or autoscaling/v1", version)
	}
}

func fromV1(old *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	ref := old.Spec.ScaleTargetRef
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: old.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				Kind: ref.Kind, Name: ref.Name, APIVersion: ref.APIVersion,
			},
			MinReplicas: old.Spec.MinReplicas, MaxReplicas: old.Spec.MaxReplicas,
		}}
	if percent := old.Spec.TargetCPUUtilizationPercentage; percent != nil {
		hpa.Spec.Metrics = cpuMetric(*percent)
	}
	return hpa
}

func cpuMetric(percent int32) []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		},
	}}
}

func complete(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	if hpa.Namespace == "" {
		hpa.Namespace = corev1.NamespaceDefault
	}
	if hpa.Spec.MinReplicas == nil {
		hpa.Spec.MinReplicas = ptr.To[int32](1)
	}
	if len(hpa.Spec.Metrics) == 0 {
		hpa.Spec.Metrics = cpuMetric(defaultPercent)
	}
}

// check finds what an API server would refuse and what a simulation would stumble over.
func check(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	s := &hpa.Spec
	switch {
	case s.MaxReplicas < 1:
		return errors.New("spec.maxReplicas must be set and greater than 0")
	case *s.MinReplicas < 0 || *s.MinReplicas > s.MaxReplicas:
		return fmt.Errorf("spec.minReplicas is %d, want 0 to spec.maxReplicas, which is %d", *s.MinReplicas, s.MaxReplicas)
	case *s.MinReplicas == 0 && !slices.ContainsFunc(s.Metrics, seesLoadWithoutPods):
		return errors.New("spec.metrics: must specify at least one Object or External metric to support scaling to zero " +
			"replicas")
	}
	for i := range s.Metrics {
		if err := checkMetric(&s.Metrics[i]); err != nil {
			return fmt.Errorf("spec.metrics[%d]: %w", i, err)
		}
	}
	if b := s.Behavior; b != nil {
		if err := errors.Join(checkRules("scaleUp", b.ScaleUp), checkRules("scaleDown", b.ScaleDown)); err != nil {
			return err
		}
	}
	return nil
}

func seesLoadWithoutPods(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
}

func checkMetric(m *autoscalingv2.MetricSpec) error {
	target := targetOf(m)
	switch {
	case target == nil:
		return fmt.Errorf("type is %q, and there is no source of that type", m.Type)
	case target.AverageUtilization == nil && target.AverageValue == nil && target.Value == nil:
		return errors.New("its target has no value")
	case target.AverageUtilization != nil && *target.AverageUtilization < 1:
		return fmt.Errorf("averageUtilization is %d, want at least 1", *target.AverageUtilization)
	}
	return nil
}

// targetOf is the metric's target; nil without a source of its type.
func targetOf(m *autoscalingv2.MetricSpec) *autoscalingv2.MetricTarget {
	switch {
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		return &m.Resource.Target
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		return &m.ContainerResource.Target
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		return &m.Pods.Target
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		return &m.Object.Target
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		return &m.External.Target
	}
	return nil
}

func checkRules(name string, rules *autoscalingv2.HPAScalingRules) error {
	if rules == nil {
		return nil
	}
	if w := rules.StabilizationWindowSeconds; w != nil && (*w < 0 || *w > 3600) {
		return fmt.Errorf("spec.behavior.%s.stabilizationWindowSeconds is %d, want 0 to 3600", name, *w)
	}
	for i, p := range rules.Policies {
		if p.Value < 1 || p.PeriodSeconds < 1 || p.PeriodSeconds > 1800 {
			return fmt.Errorf("spec.behavior.%s.policies[%s]: value must be at least 1, periodSeconds 1 to 1800", name,
				strconv.Itoa(i))
		}
	}
	return nil
}
