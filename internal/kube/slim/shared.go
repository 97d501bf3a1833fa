package slim

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Shared is the transform of informers that the horizontal and the vertical side both
// read. A pod is what observe keeps of it, with what the vertical side looks at in
// Whole; other types are as Transform makes them, but HorizontalPodAutoscalers as
// Horizontal does.
func Shared(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		o = quantity.Pod(o)
		// Of the pod as it was: how it started is not in the slim one.
		p := observe.PodOf(o)
		p.Whole = compactOf(pod(o), p)
		return p, nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		return autoscaler(o), nil
	}
	return Transform(object)
}

// Pod is the pod of an informer's object, whether its transform is Shared, Transform
// or none.
func Pod(object any) (*corev1.Pod, bool) {
	switch o := object.(type) {
	case *corev1.Pod:
		return o, true
	case *observe.Pod:
		if o.Whole != nil {
			return o.Whole.Pod(), true
		}
	}
	return nil, false
}

// Observed is what observe keeps of an informer's pod; nil if it is none.
func Observed(object any) *observe.Pod {
	switch o := object.(type) {
	case *corev1.Pod:
		return observe.PodOf(o)
	case *observe.Pod:
		return o
	}
	return nil
}
