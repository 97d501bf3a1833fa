package quantity

import (
	"math"
	"reflect"
	"slices"

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
const exactBelow = 9e18

// Milli is the quantity in thousandths, rounded up, and the largest number of 64 bits
// where that does not fit: MilliValue makes 0 of 1E, and another number again of the
// equal 1000000000000000000000m.
func Milli(q *resource.Quantity) int64 { return scaled(q, resource.Milli) }

// Value is the quantity in units, rounded up, and the largest number of 64 bits where
// that does not fit.
func Value(q *resource.Quantity) int64 { return scaled(q, 0) }

func scaled(q *resource.Quantity, scale resource.Scale) int64 {
	// What is no number, which 0e99 times 1000 may be, is not large.
	if estimate := q.AsApproximateFloat64() * math.Pow10(-int(scale)); !(math.Abs(estimate) >= exactBelow) {
		return q.ScaledValue(scale)
	}
	if IsBounded(q) {
		// A comparison may rewrite the quantity's inside, and this one may be in a cache that
		// others read.
		c := q.DeepCopy()
		if c.Cmp(*resource.NewScaledQuantity(math.MaxInt64, scale)) < 0 &&
			c.Cmp(*resource.NewScaledQuantity(math.MinInt64, scale)) > 0 {
			return c.ScaledValue(scale)
		}
	}
	return most64(q.Sign())
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

func most64(sign int) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

func largest(sign int) resource.Quantity {
	return *resource.NewQuantity(most64(sign), resource.DecimalSI)
}

// List is the list, or, if one of its quantities is not bounded, a copy with the
// largest number of 64 bits in that one's place.
func List(list corev1.ResourceList) corev1.ResourceList {
	if !isUnbounded(&list) {
		return list
	}
	list = list.DeepCopy()
	bound(list)
	return list
}

func isUnbounded(list *corev1.ResourceList) bool {
	for _, q := range *list {
		if !IsBounded(&q) {
			return true
		}
	}
	return false
}

func bound(list corev1.ResourceList) {
	for name, q := range list {
		if !IsBounded(&q) {
			list[name] = largest(q.Sign())
		}
	}
}

// Pod is the pod, or a copy of it whose resources are bounded.
func Pod(pod *corev1.Pod) *corev1.Pod {
	if !slices.ContainsFunc(listsOf(pod), isUnbounded) {
		return pod
	}
	pod = pod.DeepCopy()
	for _, list := range listsOf(pod) {
		bound(*list)
	}
	return pod
}

// listsOf are the pod's quantities that are computed with.
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
	isHuge := func(q *resource.Quantity) bool { return !IsBounded(q) }
	if !slices.ContainsFunc(quantitiesOf(hpa), isHuge) {
		return hpa
	}
	hpa = hpa.DeepCopy()
	for _, q := range quantitiesOf(hpa) {
		if isHuge(q) {
			*q = largest(q.Sign())
		}
	}
	return hpa
}

func quantitiesOf(hpa *autoscalingv2.HorizontalPodAutoscaler) []*resource.Quantity {
	return quantitiesIn(reflect.ValueOf(&hpa.Status), quantitiesIn(reflect.ValueOf(&hpa.Spec), nil))
}

// quantitiesIn appends those behind pointers, in structs and in lists: all that an HPA has.
func quantitiesIn(v reflect.Value, all []*resource.Quantity) []*resource.Quantity {
	switch v.Kind() {
	case reflect.Pointer:
		if q, ok := v.Interface().(*resource.Quantity); ok && q != nil {
			return append(all, q)
		} else if !ok && !v.IsNil() {
			return quantitiesIn(v.Elem(), all)
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = quantitiesIn(v.Index(i), all)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = quantitiesIn(v.Field(i), all)
			}
		}
	}
	return all
}
