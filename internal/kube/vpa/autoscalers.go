package vpa

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Informer makes an informer of the VerticalPodAutoscalers of a namespace, or of
// all if it is empty. Nobody has started it. What managedFields say is left out.
func (c *Client) Informer(namespace string) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &autoscaling.VerticalPodAutoscalerList{}
			err := c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(autoscaling.VerticalPodAutoscalers).
				VersionedParams(&options, c.parameters).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return c.rest.Get().NamespaceIfScoped(namespace, namespace != "").Resource(autoscaling.VerticalPodAutoscalers).
				VersionedParams(&options, c.parameters).Watch(ctx)
		},
	}, &autoscaling.VerticalPodAutoscaler{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	// It fails only once the informer runs.
	_ = informer.SetTransform(withoutManagedFields)
	return informer
}

func withoutManagedFields(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// PatchStatus replaces the whole status of an object, unless there is another by
// now under its name.
func (c *Client) PatchStatus(ctx context.Context, object *autoscaling.VerticalPodAutoscaler,
	status *autoscaling.VerticalPodAutoscalerStatus,
) (*autoscaling.VerticalPodAutoscaler, error) {
	written := &autoscaling.VerticalPodAutoscaler{}
	err := c.patch(ctx, target{
		resource: autoscaling.VerticalPodAutoscalers, subresource: "status", namespace: object.Namespace, name: object.Name,
	}, []operation{
		{Op: "test", Path: "/metadata/uid", Value: object.UID},
		{Op: "add", Path: "/status", Value: status},
	}, written)
	if err != nil {
		return nil, fmt.Errorf("status of VerticalPodAutoscaler %s/%s: %w", object.Namespace, object.Name, err)
	}
	return written, nil
}

// target is what a patch changes.
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
	return request.VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager}, c.parameters).Body(body).Do(ctx).Into(into)
}

func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return nil
}
