package quantity

import (
	"math"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// most is beyond every quantity that fits into 64 bits, in cores as in nanocores, and
// within those that are cheap to compute with.
const most = 1e30

// IsBounded reports whether a quantity that was read already is cheap to compute with.
// The API server keeps 1e999999999 as it is in the objects that it validates: reading
// that is cheap, and adding to it or comparing it is not.
func IsBounded(q *resource.Quantity) bool {
	return q.IsZero() || math.Abs(q.AsApproximateFloat64()) < most
}

// exactBelow is a bound under which a number of 64 bits is certain to hold what
// AsApproximateFloat64 estimates, whatever that rounded.
const exactBelow = 9.2e18

// Milli is the quantity in thousandths, rounded up, and the largest number of 64 bits
// where that does not fit: MilliValue makes 0 of 1E, and -1000 of that number.
func Milli(q *resource.Quantity) int64 {
	if isLarge(q.AsApproximateFloat64() * 1000) {
		return most64(q.Sign())
	}
	return q.MilliValue()
}

// Value is the quantity in units, rounded up, and the largest number of 64 bits where
// that does not fit.
func Value(q *resource.Quantity) int64 {
	if isLarge(q.AsApproximateFloat64()) {
		return most64(q.Sign())
	}
	return q.Value()
}

// leastCompared is the least quantity that is cheap to compare: 1e-999999999 is not.
const leastCompared = 1e-9

// IsFraction reports whether the quantity is less than so many units of a scale, to which it was rounded up. Of one
// that
// is too large or too small to compare it is false.
func IsFraction(q *resource.Quantity, units int64, scale resource.Scale) bool {
	if estimate := math.Abs(q.AsApproximateFloat64()); !(estimate >= leastCompared && estimate < exactBelow) {
		return false
	}
	return q.Cmp(*resource.NewScaledQuantity(units, scale)) < 0
}

// isLarge is false of what is no number, which 0e99 times 1000 may be.
func isLarge(estimate float64) bool { return math.Abs(estimate) >= exactBelow }

func most64(sign int) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// List is the list, or, if one of its quantities is not bounded, a copy with the
// largest number of 64 bits in that one's place.
func List(list corev1.ResourceList) (bounded corev1.ResourceList, isChanged bool) {
	for name, q := range list {
		if IsBounded(&q) {
			continue
		}
		if !isChanged {
			bounded, isChanged = list.DeepCopy(), true
		}
		bounded[name] = largest(q.Sign())
	}
	if !isChanged {
		return list, false
	}
	return bounded, true
}

func largest(sign int) resource.Quantity {
	return *resource.NewQuantity(most64(sign), resource.DecimalSI)
}

// Pod is the pod, or a copy of it whose resources are bounded.
func Pod(pod *corev1.Pod) *corev1.Pod {
	copied := false
	for i, list := range listsOf(pod) {
		bounded, isChanged := List(*list)
		if !isChanged {
			continue
		}
		if !copied {
			pod, copied = pod.DeepCopy(), true
		}
		*listsOf(pod)[i] = bounded
	}
	return pod
}

// listsOf are the pod's quantities that are computed with, always in the same order.
func listsOf(pod *corev1.Pod) []*corev1.ResourceList {
	lists := make([]*corev1.ResourceList, 0, 16)
	of := func(r *corev1.ResourceRequirements) {
		if r != nil {
			lists = append(lists, &r.Requests, &r.Limits)
		}
	}
	lists = append(lists, &pod.Spec.Overhead)
	of(pod.Spec.Resources)
	for i := range pod.Spec.Containers {
		of(&pod.Spec.Containers[i].Resources)
	}
	for i := range pod.Spec.InitContainers {
		of(&pod.Spec.InitContainers[i].Resources)
	}
	lists = append(lists, &pod.Status.AllocatedResources)
	status := &pod.Status
	for _, statuses := range [...][]corev1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range statuses {
			lists = append(lists, &statuses[i].AllocatedResources)
			of(statuses[i].Resources)
		}
	}
	return lists
}

// Horizontal is the object, or a copy of it whose targets and current values are
// bounded.
func Horizontal(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	copied := false
	for i, q := range quantitiesOf(hpa) {
		if q == nil || IsBounded(q) {
			continue
		}
		if !copied {
			hpa, copied = hpa.DeepCopy(), true
		}
		*quantitiesOf(hpa)[i] = largest(q.Sign())
	}
	return hpa
}

// quantitiesOf are the object's, some of them nil, always in the same order.
func quantitiesOf(hpa *autoscalingv2.HorizontalPodAutoscaler) []*resource.Quantity {
	all := make([]*resource.Quantity, 0, 8)
	if b := hpa.Spec.Behavior; b != nil {
		for _, rules := range []*autoscalingv2.HPAScalingRules{b.ScaleUp, b.ScaleDown} {
			if rules != nil {
				all = append(all, rules.Tolerance)
			}
		}
	}
	target := func(t *autoscalingv2.MetricTarget) { all = append(all, t.Value, t.AverageValue) }
	for i := range hpa.Spec.Metrics {
		m := &hpa.Spec.Metrics[i]
		if m.Resource != nil {
			target(&m.Resource.Target)
		}
		if m.ContainerResource != nil {
			target(&m.ContainerResource.Target)
		}
		if m.Pods != nil {
			target(&m.Pods.Target)
		}
		if m.Object != nil {
			target(&m.Object.Target)
		}
		if m.External != nil {
			target(&m.External.Target)
		}
	}
	return append(all, currentOf(hpa)...)
}

func currentOf(hpa *autoscalingv2.HorizontalPodAutoscaler) (all []*resource.Quantity) {
	current := func(v *autoscalingv2.MetricValueStatus) { all = append(all, v.Value, v.AverageValue) }
	for i := range hpa.Status.CurrentMetrics {
		m := &hpa.Status.CurrentMetrics[i]
		if m.Resource != nil {
			current(&m.Resource.Current)
		}
		if m.ContainerResource != nil {
			current(&m.ContainerResource.Current)
		}
		if m.Pods != nil {
			current(&m.Pods.Current)
		}
		if m.Object != nil {
			current(&m.Object.Current)
		}
		if m.External != nil {
			current(&m.External.Current)
		}
	}
	return all
}
