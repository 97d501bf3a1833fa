package objects

import (
	"encoding/json"
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultPercent is the API server's target of an HPA that names no metric.
const defaultPercent = 80

// In these annotations an HPA of version v1 has what only later versions have fields for.
const (
	metricsAnnotation  = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior"
)

func addHorizontalV1(c *Collection, o *Object) error {
	h, err := decode(o, func(t *autoscalingv1.HorizontalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	spec := &autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(h.Spec.ScaleTargetRef),
		MinReplicas:    h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas,
	}
	if err := annotated(h.Annotations, spec); err != nil {
		return err
	}
	if p := h.Spec.TargetCPUUtilizationPercentage; p != nil {
		spec.Metrics = append(spec.Metrics, cpuMetric(*p))
	}
	status := &autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: h.Status.CurrentReplicas, DesiredReplicas: h.Status.DesiredReplicas,
		LastScaleTime: h.Status.LastScaleTime,
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: spec, Status: status, IsV1: true})
	return nil
}

// annotated reads what the annotations of version v1 say. The API server ignores one that is no JSON.
func annotated(annotations map[string]string, spec *autoscalingv2.HorizontalPodAutoscalerSpec) error {
	if text, ok := annotations[metricsAnnotation]; ok {
		var old []autoscalingv1.MetricSpec
		if err := json.Unmarshal([]byte(text), &old); err != nil {
			return fmt.Errorf("annotation %s: %w", metricsAnnotation, err)
		}
		spec.Metrics = currentMetrics(old)
	}
	if text, ok := annotations[behaviorAnnotation]; ok {
		if err := json.Unmarshal([]byte(text), &spec.Behavior); err != nil {
			return fmt.Errorf("annotation %s: %w", behaviorAnnotation, err)
		}
	}
	return nil
}

// OwnField is where an object of an old version has what a field of version v2 has.
func (h *Horizontal) OwnField(f Field) Field {
	percent := Field{"spec", "targetCPUUtilizationPercentage"}
	annotations := Field{"metadata", "annotations"}
	switch {
	case !h.IsV1 || len(f) < 3 || f[0] != "spec":
	case f[1] == "metrics" && h.Has(Field{"spec", "metrics"}):
		return f[:3]
	case f[1] == "metrics" && h.Has(percent) && f[2] == strconv.Itoa(len(h.Spec.Metrics)-1):
		return percent
	case f[1] == "metrics" && len(h.Spec.Metrics) > 0:
		return annotations.In(metricsAnnotation)
	case f[1] == "behavior" && h.Has(annotations.In(behaviorAnnotation)):
		return annotations.In(behaviorAnnotation)
	}
	return f
}

// addHorizontalV2beta1 reads version v2beta1, whose metrics are those of the annotations of v1.
func addHorizontalV2beta1(c *Collection, o *Object) error {
	type hpa struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ScaleTargetRef autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`
			MinReplicas    *int32                                    `json:"minReplicas"`
			MaxReplicas    int32                                     `json:"maxReplicas"`
			Metrics        []autoscalingv1.MetricSpec                `json:"metrics"`
		} `json:"spec"`
	}
	h, err := decode(o, func(t *hpa) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Horizontals, o, &Horizontal{
		Object: *o, IsV1: true, Status: &autoscalingv2.HorizontalPodAutoscalerStatus{},
		Spec: &autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: h.Spec.ScaleTargetRef, MinReplicas: h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas,
			Metrics: currentMetrics(h.Spec.Metrics),
		},
	})
	return nil
}

// currentMetrics writes old metrics as version v2 does.
func currentMetrics(old []autoscalingv1.MetricSpec) []autoscalingv2.MetricSpec {
	var all []autoscalingv2.MetricSpec
	for i := range old {
		all = append(all, currentMetric(&old[i]))
	}
	return all
}

func currentMetric(old *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	m := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(old.Type)}
	if r := old.Resource; r != nil {
		m.Resource = &autoscalingv2.ResourceMetricSource{
			Name: r.Name, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
				AverageUtilization: r.TargetAverageUtilization, AverageValue: r.TargetAverageValue},
		}
		ofUtilization(&m.Resource.Target)
	}
	if r := old.ContainerResource; r != nil {
		m.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: r.Name, Container: r.Container, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
				AverageUtilization: r.TargetAverageUtilization, AverageValue: r.TargetAverageValue},
		}
		ofUtilization(&m.ContainerResource.Target)
	}
	if p := old.Pods; p != nil {
		m.Pods = &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: p.MetricName, Selector: p.Selector},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &p.TargetAverageValue},
		}
	}
	if e := old.External; e != nil {
		m.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: e.MetricName, Selector: e.MetricSelector},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, Value: e.TargetValue,
				AverageValue: e.TargetAverageValue},
		}
		ofValue(&m.External.Target)
	}
	if b := old.Object; b != nil {
		m.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(b.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: b.MetricName, Selector: b.Selector},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
				AverageValue: b.AverageValue},
		}
		if b.AverageValue == nil || !b.TargetValue.IsZero() {
			m.Object.Target.Value = &b.TargetValue
		}
		if b.AverageValue == nil {
			m.Object.Target.Type = autoscalingv2.ValueMetricType
		}
	}
	return m
}

func ofUtilization(t *autoscalingv2.MetricTarget) {
	if t.AverageUtilization != nil {
		t.Type = autoscalingv2.UtilizationMetricType
	}
}

func ofValue(t *autoscalingv2.MetricTarget) {
	if t.Value != nil {
		t.Type = autoscalingv2.ValueMetricType
	}
}

func cpuMetric(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		}}
}

// Metrics are the object's: the API server's default if it is an HPA and names none.
func (h *Horizontal) Metrics() []autoscalingv2.MetricSpec {
	if len(h.Spec.Metrics) == 0 && !h.IsScaledObject && h.Workload == nil {
		return []autoscalingv2.MetricSpec{cpuMetric(defaultPercent)}
	}
	return h.Spec.Metrics
}
