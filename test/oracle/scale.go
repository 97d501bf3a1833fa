package oracle

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"
)

// Scales implements scale.ScalesGetter for the target.
func (w *world) Scales(string) scaleclient.ScaleInterface { return &scales{w: w} }

type scales struct {
	scaleclient.ScaleInterface
	w *world
}

// Get implements scale.ScaleInterface.
func (s *scales) Get(
	_ context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.Scale.GetError != "" {
		return nil, errors.New(w.now.Scale.GetError)
	}
	if name != target {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return w.scale(), nil
}

func (w *world) scale() *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: target, UID: "target", ResourceVersion: strconv.Itoa(w.scaleVersion),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: w.count},
		Status: autoscalingv1.ScaleStatus{Replicas: w.now.Scale.Status, Selector: w.now.Scale.Selector},
	}
}

// Update implements scale.ScaleInterface.
func (s *scales) Update(
	_ context.Context, resource schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	w := s.w
	w.mu.Lock()
	if w.conflicts > 0 {
		w.conflicts--
		w.mu.Unlock()
		// Another client wrote the target's status.
		w.storeTarget()
		w.mu.Lock()
	}
	err := w.refusal(resource, scale)
	w.writes = append(w.writes, fmt.Sprintf("%d→%d %v", w.count, scale.Spec.Replicas, err))
	if err != nil {
		w.mu.Unlock()
		return nil, err
	}
	w.count = scale.Spec.Replicas
	w.mu.Unlock()
	w.storeTarget()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.scale(), nil
}

func (w *world) refusal(resource schema.GroupResource, scale *autoscalingv1.Scale) error {
	if w.now.Scale.WriteError != "" {
		return errors.New(w.now.Scale.WriteError)
	}
	if scale.ResourceVersion != strconv.Itoa(w.scaleVersion) {
		return apierrors.NewConflict(resource, scale.Name, errors.New("the object has been modified"))
	}
	return nil
}
