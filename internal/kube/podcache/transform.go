package podcache

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// toObserved is the transform for the horizontal side: it keeps observe's form of a pod.
func toObserved(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		return observe.PodOf(quantity.Pod(pod)), nil
	}
	return object, nil
}

// withRunning also keeps the IDs of containers.
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

// transformOf adds the fields to keep to a transform.
func transformOf(transform cache.TransformFunc, keep []Keep) cache.TransformFunc {
	if slices.Contains(keep, Running) {
		return withRunning(transform)
	}
	return transform
}

// toShared is the transform for both sides: it keeps observe's form of a pod, with the fields of the vertical side in
// Whole.
func toShared(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod = quantity.Pod(pod)
	// From the original pod: the slim one lacks its start.
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

// podOf returns the pod of the API for an informer's object of either form.
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

// observedOf returns observe's form of an informer's object.
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
