package manifest

import (
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/validation"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
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
	switch version, _ := o.content["apiVersion"].(string); version {
	case "autoscaling/v2":
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		return hpa, o.decode(hpa)
	case "autoscaling/v1":
		old := &autoscalingv1.HorizontalPodAutoscaler{}
		if err := o.decode(old); err != nil {
			return nil, err
		}
		return fromV1(old), nil
	default:
		return nil, fmt.Errorf("apiVersion %q, want autoscaling/v2 or autoscaling/v1", version)
	}
}

// decode reads the object into a type that has all its fields.
func (o *Object) decode(into any) error {
	text, err := json.Marshal(o.content)
	if err != nil {
		return err
	}
	var raw map[string]any
	if err := utiljson.Unmarshal(text, &raw); err != nil {
		return err
	}
	unknown, err := typed.Decode(raw, into, nil)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("unknown field %q", unknown[0])
	}
	return err
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

// check returns what an API server refuses of the spec. A simulation needs no name, and no apiVersion of the target.
func check(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
	named := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "simulated"}, Spec: hpa.Spec}
	named.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "simulated",
	}
	return validation.Validate(&named).ToAggregate()
}
