package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// Originals has the objects of one kind that are replaced: HPAs, or ScaledObjects.
type Originals struct {
	*Client

	// IsNative is set if Plimsoll is to read the metrics of ScaledObjects itself if it can.
	IsNative bool

	kind string
}

var _ steps.Cluster = (*Originals)(nil)

// Originals returns those of a kind.
func (c *Client) Originals(kind string) *Originals { return &Originals{Client: c, kind: kind} }

// State implements steps.Cluster.
func (o *Originals) State(ctx context.Context, name types.NamespacedName) (*steps.State, error) {
	s := &steps.State{Kind: o.kind, IsNative: o.IsNative}
	w, err := o.wla.WorkloadAutoscalers(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case err == nil && w.Unreadable != "":
		return nil, fmt.Errorf("the WorkloadAutoscaler cannot be read: %s", w.Unreadable)
	case err == nil:
		s.WorkloadAutoscaler = w
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	if o.kind != keda.Kind {
		s.HPA, err = o.find(ctx, hpas, name)
		s.Original = s.HPA
		return s, err
	}
	if s.Original, err = o.find(ctx, scaledObjects, name); err != nil {
		return nil, err
	}
	if s.Original != nil && o.IsNative && s.WorkloadAutoscaler == nil {
		s.Authentications = o.Authentications(ctx, s.Original)
	}
	named := s.Original
	if named == nil && w != nil {
		// The HPA may exist for a moment longer.
		named, _ = convert.ToManifest(w)
	}
	if named != nil {
		s.HPA, err = o.find(ctx, hpas, types.NamespacedName{Namespace: name.Namespace, Name: keda.HPAName(named)})
	}
	return s, err
}

func (c *Client) find(
	ctx context.Context, resource schema.GroupVersionResource, name types.NamespacedName,
) (*unstructured.Unstructured, error) {
	object, err := c.dynamic.Resource(resource).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// asRead makes a deletion fail if the object is not the one that was read.
func asRead(object metav1.Object) metav1.DeleteOptions {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
}

// Remove implements steps.Cluster.
func (o *Originals) Remove(ctx context.Context, read *steps.State) error {
	if o.kind == keda.Kind {
		return o.setPaused(ctx, read.Original, "true")
	}
	hpa := read.Original
	return o.dynamic.Resource(hpas).Namespace(hpa.GetNamespace()).Delete(ctx, hpa.GetName(), asRead(hpa))
}

// Restore implements steps.Cluster.
func (o *Originals) Restore(ctx context.Context, read *steps.State, manifest *unstructured.Unstructured) error {
	if read.Original != nil {
		return o.setPaused(ctx, read.Original, nil)
	}
	resource := hpas
	if o.kind == keda.Kind {
		resource = scaledObjects
	}
	resource.Version = manifest.GroupVersionKind().Version
	_, err := o.dynamic.Resource(resource).Namespace(manifest.GetNamespace()).Create(ctx, manifest, metav1.CreateOptions{})
	return err
}

// setPaused sets the annotation of a ScaledObject as it was read; nil removes it.
func (o *Originals) setPaused(ctx context.Context, read *unstructured.Unstructured, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": read.GetResourceVersion(),
		"annotations":     map[string]any{keda.AnnotationPaused: value, keda.AnnotationPausedReplicas: nil},
	}})
	if err != nil {
		return err
	}
	_, err = o.dynamic.Resource(scaledObjects).Namespace(read.GetNamespace()).Patch(ctx, read.GetName(),
		types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
