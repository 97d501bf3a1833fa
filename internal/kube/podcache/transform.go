package podcache

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// toObserved is the transform for the horizontal side: a pod is what observe keeps of it.
func toObserved(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return observe.PodOf(quantity.Pod(pod)), nil
	}
	return object, nil
}

// withRunning has pods keep the IDs of their containers too.
func withRunning(transform cache.TransformFunc) cache.TransformFunc {
	return func(object any) (any, error) {
		transformed, err := transform(object)
		pod, isWhole := object.(*corev1.Pod)
		if observed, ok := transformed.(*observe.Pod); ok && isWhole {
			observed.Running = observe.RunningOf(pod)
		}
		return transformed, err
	}
}

// transformOf is the transform with what else is to be kept.
func transformOf(transform cache.TransformFunc, keep []Keep) cache.TransformFunc {
	if slices.Contains(keep, Running) {
		return withRunning(transform)
	}
	return transform
}

// toShared is the transform for both sides: a pod is what observe keeps of it, with what the
// vertical side reads in Whole.
func toShared(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod = quantity.Pod(pod)
	// Of the pod as it was: how it started is not in the slim one.
	p := observe.PodOf(pod)
	p.Whole = compactOf(slim.Pod(pod), p)
	return p, nil
}

// toSlim is the transform for the vertical side.
func toSlim(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return slim.Pod(quantity.Pod(pod)), nil
	}
	return object, nil
}

// podOf is the pod of the API that an informer holds, whether it is the API's or shared.
func podOf(object any) (*corev1.Pod, bool) {
	switch pod := object.(type) {
	case *corev1.Pod:
		return pod, true
	case *observe.Pod:
		if pod.Whole != nil {
			return pod.Whole.Pod(), true
		}
	}
	return nil, false
}

// observedOf is what observe keeps of the pod that an informer holds.
func observedOf(object any) (*observe.Pod, bool) {
	switch pod := object.(type) {
	case *observe.Pod:
		return pod, true
	case *corev1.Pod:
		p := observe.PodOf(pod)
		p.Whole = observe.WholeOf(pod)
		return p, true
	}
	return nil, false
}
