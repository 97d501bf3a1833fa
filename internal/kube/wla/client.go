// Package wla reads and writes WorkloadAutoscalers.
package wla

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/customresource"
)

// Client calls the API server.
type Client struct {
	api *customresource.Client
}

// New makes a client. It makes no call.
func New(config *rest.Config) (*Client, error) {
	api, err := customresource.New(config, kinds, plimsollv1alpha1.AddToScheme)
	if err != nil {
		return nil, err
	}
	return &Client{api: api}, nil
}

// WorkloadAutoscalerClient has the calls about the objects of one namespace: Get, List,
// Watch, Create, Update, UpdateStatus, Patch, Delete and DeleteCollection.
type WorkloadAutoscalerClient = *gentype.ClientWithList[
	*plimsollv1alpha1.WorkloadAutoscaler, *plimsollv1alpha1.WorkloadAutoscalerList]

// WorkloadAutoscalers has the calls about the objects of a namespace; of all namespaces
// if it is empty.
func (c *Client) WorkloadAutoscalers(namespace string) WorkloadAutoscalerClient {
	return gentype.NewClientWithList(plimsollv1alpha1.WorkloadAutoscalers, c.api.REST, c.api.Parameters, namespace,
		func() *plimsollv1alpha1.WorkloadAutoscaler { return &plimsollv1alpha1.WorkloadAutoscaler{} },
		func() *plimsollv1alpha1.WorkloadAutoscalerList { return &plimsollv1alpha1.WorkloadAutoscalerList{} })
}

// Informer makes an informer of the objects of a namespace; of all namespaces if it is empty. The caller starts it. Its
// objects lack the names of the fields that each manager wrote, and the last-applied configuration, both of which may
// be of any size. The transform follows; it may be nil. A transform that changes the type of objects requires that the
// informer stays private.
func (c *Client) Informer(namespace string, transform cache.TransformFunc) cache.SharedIndexInformer {
	objects := c.WorkloadAutoscalers(namespace)
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, &plimsollv1alpha1.WorkloadAutoscaler{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	// It fails only on an informer that runs.
	_ = informer.SetTransform(func(object any) (any, error) {
		if o, ok := object.(metav1.Object); ok {
			o.SetManagedFields(withoutFields(o.GetManagedFields()))
			delete(o.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
		}
		if transform == nil {
			return object, nil
		}
		return transform(object)
	})
	return informer
}

// withoutFields keeps the manager and time of each write, and drops its fields.
func withoutFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		entries[i].FieldsV1 = nil
	}
	return entries
}

// Served reports whether the API server serves the objects: whether their definition is installed.
func (c *Client) Served(ctx context.Context) (bool, error) {
	return c.api.Served(ctx, plimsollv1alpha1.WorkloadAutoscalers)
}

// AwaitServed waits until the API server serves the objects. If it does not at first, it
// logs that, once. An error is the context's.
func (c *Client) AwaitServed(ctx context.Context, log logr.Logger) error {
	return c.api.AwaitServed(ctx, log,
		"WorkloadAutoscalers are ignored until their CustomResourceDefinition is installed",
		plimsollv1alpha1.WorkloadAutoscalers)
}
