package vpa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Informer makes an informer of the VerticalPodAutoscalers of a namespace, or of all if it is empty. It is not started.
// It leaves out managedFields and the last-applied configuration, which may be of any size.
func (c *Client) Informer(namespace string) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &vpav1.VerticalPodAutoscalerList{}
			err := c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(vpav1.VerticalPodAutoscalers).
				VersionedParams(&options, c.parameters).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(vpav1.VerticalPodAutoscalers).
				VersionedParams(&options, c.parameters).Watch(ctx)
		},
	}, &vpav1.VerticalPodAutoscaler{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	// It fails only once the informer runs.
	_ = informer.SetTransform(slim)
	return informer
}

func slim(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
		delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// attempts is the number of attempts to write a status after conflicts with another writer.
const attempts = 3

// ErrReplaced is returned if another object has the name now.
var ErrReplaced = errors.New("the object was deleted and created again")

// UpdateStatus writes the status that change makes of the object's status, which is a copy; if change returns false, it
// writes nothing. Several writers write status, each its own part: after a conflict, change is called with the newer
// status. It returns the object as stored, nil without a write.
func (c *Client) UpdateStatus(ctx context.Context, object *vpav1.VerticalPodAutoscaler,
	change func(*vpav1.VerticalPodAutoscalerStatus) bool,
) (*vpav1.VerticalPodAutoscaler, error) {
	base := object
	for attempt := 1; ; attempt++ {
		next := base.Status.DeepCopy()
		if !change(next) {
			return nil, nil
		}
		written, err := c.patchStatus(ctx, base, next)
		if apierrors.IsConflict(err) && attempt < attempts {
			base, err = c.get(ctx, object)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("status of VerticalPodAutoscaler %s/%s: %w", object.Namespace, object.Name, err)
		}
		return written, nil
	}
}

// patchStatus replaces the status, unless the object has changed.
func (c *Client) patchStatus(ctx context.Context, base *vpav1.VerticalPodAutoscaler,
	status *vpav1.VerticalPodAutoscalerStatus,
) (*vpav1.VerticalPodAutoscaler, error) {
	written := &vpav1.VerticalPodAutoscaler{}
	err := c.patch(ctx, target{
		resource: vpav1.VerticalPodAutoscalers, subresource: "status", namespace: base.Namespace, name: base.Name,
	}, []operation{
		// The API server answers another version with a conflict.
		{Op: "add", Path: "/metadata/resourceVersion", Value: base.ResourceVersion},
		{Op: "add", Path: "/status", Value: status},
	}, written)
	return written, err
}

func (c *Client) get(ctx context.Context, object *vpav1.VerticalPodAutoscaler) (*vpav1.VerticalPodAutoscaler, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	latest := &vpav1.VerticalPodAutoscaler{}
	err := c.rest.Get().Namespace(object.Namespace).Resource(vpav1.VerticalPodAutoscalers).Name(object.Name).Do(ctx).Into(
		latest)
	if err == nil && latest.UID != object.UID {
		err = ErrReplaced
	}
	return latest, err
}

// target is the target of a patch.
type target struct{ resource, subresource, namespace, name string }

func (c *Client) patch(ctx context.Context, to target, operations []operation, into runtime.Object) error {
	body, err := json.Marshal(operations)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	request := c.rest.Patch(types.JSONPatchType).Namespace(to.namespace).Resource(to.resource).Name(to.name)
	if to.subresource != "" {
		request = request.SubResource(to.subresource)
	}
	return request.VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager},
		c.parameters).Body(body).Do(ctx).Into(into)
}
