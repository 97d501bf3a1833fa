package scaling

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// ReadOtherWriter reads which field manager has set the target's replica count.
func (s *Scaler) ReadOtherWriter(ctx context.Context, r *Record, target scale.Target) {
	s.Workers.Yield(func() { r.writing.otherWriter = s.writerOf(ctx, target) })
}

// OverriddenBy describes the other writer of the target's replica count.
func (s *Scaler) OverriddenBy(r *Record, autoscaler observehorizontal.Autoscaler) string {
	by := r.writing.otherWriter
	switch by {
	case "":
		by = "another writer"
	case s.FieldManager:
		by = "another process with the field manager " + by
	}
	return statusreport.Overridden(by, autoscaler.TargetName())
}

// writerOf returns the field manager that set the target's replica count last; empty if it is unknown. The scale does
// not contain it, and Plimsoll may not read objects of other kinds.
func (s *Scaler) writerOf(ctx context.Context, target scale.Target) (by string) {
	ctx, cancel := context.WithTimeout(ctx, scale.DefaultTimeout)
	defer cancel()
	list, err := s.list(ctx, target)
	if err != nil {
		return ""
	}
	// The list has at most one object. EachListItem fails only for a type that is not a list.
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if o, err := meta.Accessor(item); err == nil && o.GetName() == target.Scale.Name {
			by = scale.WriterOf(o.GetManagedFields())
		}
		return nil
	})
	return by
}

// list lists the target alone: Plimsoll has the informers' permissions, list and watch, but not get.
func (s *Scaler) list(ctx context.Context, target scale.Target) (runtime.Object, error) {
	namespace := target.Scale.Namespace
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", target.Scale.Name).String()}
	switch target.Resource.String() {
	case "deployments.apps":
		return s.Apps.Deployments(namespace).List(ctx, options)
	case "statefulsets.apps":
		return s.Apps.StatefulSets(namespace).List(ctx, options)
	case "replicasets.apps":
		return s.Apps.ReplicaSets(namespace).List(ctx, options)
	}
	return nil, errors.New("objects of other kinds may not be read")
}
