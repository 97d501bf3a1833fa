package view

import (
	"fmt"
	"math"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// loadOf returns the metric with the highest ratio to its target. The statuses are in the order of the metrics; one
// that could not be read is empty.
func loadOf(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) *Load {
	var highest *Load
	for i := range min(len(specs), len(statuses)) {
		if load := loadOfOne(&specs[i], &statuses[i]); load != nil && (highest == nil || *load.Ratio > *highest.Ratio) {
			highest = load
		}
	}
	return highest
}

func loadOfOne(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) *Load {
	name, target, current := partsOf(spec, status)
	if target == nil || current == nil {
		return nil
	}
	return loadAgainst(name, target, current)
}

func loadAgainst(name string, target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) *Load {
	switch {
	case target.AverageUtilization != nil && current.AverageUtilization != nil && *target.AverageUtilization > 0:
		return &Load{Metric: name, Ratio: ptr.To(float64(*current.AverageUtilization) / float64(*target.AverageUtilization)),
			Text: fmt.Sprintf("%d%%/%d%%", *current.AverageUtilization, *target.AverageUtilization)}
	case target.AverageValue != nil && current.AverageValue != nil:
		return amounts(name, current.AverageValue, target.AverageValue)
	case target.Value != nil && current.Value != nil:
		return amounts(name, current.Value, target.Value)
	}
	return nil
}

func amounts(name string, current, target *resource.Quantity) *Load {
	ratio := current.AsApproximateFloat64() / target.AsApproximateFloat64()
	// A quantity may be infinite as a float.
	if target.Sign() <= 0 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return nil
	}
	return &Load{Metric: name, Ratio: &ratio,
		Text: current.String() + "/" + target.String()}
}

func partsOf(
	spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus,
) (name string, target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) {
	switch {
	case spec.Resource != nil && status.Resource != nil:
		return string(spec.Resource.Name), &spec.Resource.Target, &status.Resource.Current
	case spec.ContainerResource != nil && status.ContainerResource != nil:
		of := spec.ContainerResource
		return string(of.Name) + " of " + of.Container, &of.Target, &status.ContainerResource.Current
	case spec.Pods != nil && status.Pods != nil:
		return spec.Pods.Metric.Name, &spec.Pods.Target, &status.Pods.Current
	case spec.Object != nil && status.Object != nil:
		return spec.Object.Metric.Name, &spec.Object.Target, &status.Object.Current
	case spec.External != nil && status.External != nil:
		return spec.External.Metric.Name, &spec.External.Target, &status.External.Current
	}
	return "", nil, nil
}

// loadOfWLA does the same for a WorkloadAutoscaler. The statuses are in the order of the metrics, too.
func loadOfWLA(wla *plimsollv1alpha1.WorkloadAutoscaler) *Load {
	var highest *Load
	for i := range min(len(wla.Spec.Metrics), len(wla.Status.Metrics)) {
		target, status := wla.Spec.Metrics[i].Target(), &wla.Status.Metrics[i]
		if target == nil {
			continue
		}
		load := loadAgainst(status.Name, &autoscalingv2.MetricTarget{
			Value: target.Value, AverageValue: target.AverageValue, AverageUtilization: target.AverageUtilization,
		}, &autoscalingv2.MetricValueStatus{
			Value: status.Value, AverageValue: status.AverageValue, AverageUtilization: status.AverageUtilization,
		})
		if load != nil && (highest == nil || *load.Ratio > *highest.Ratio) {
			highest = load
		}
	}
	return highest
}
