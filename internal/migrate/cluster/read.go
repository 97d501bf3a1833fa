package cluster

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// HPA reads an HPA.
func (c *Client) HPA(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return c.dynamic.Resource(hpas).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// HPAs lists the HPAs of a namespace, of all namespaces if it is empty.
func (c *Client) HPAs(ctx context.Context, namespace, selector string) ([]*unstructured.Unstructured, error) {
	return c.list(ctx, hpas, "HorizontalPodAutoscaler", namespace, selector)
}

// ScaledObject reads a ScaledObject of KEDA.
func (c *Client) ScaledObject(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	return c.dynamic.Resource(scaledObjects).Namespace(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// ScaledObjects lists the ScaledObjects of a namespace, of all namespaces if it is empty.
func (c *Client) ScaledObjects(ctx context.Context, namespace, selector string) ([]*unstructured.Unstructured, error) {
	return c.list(ctx, scaledObjects, keda.Kind, namespace, selector)
}

// HPAOf reads the HPA that KEDA created for a ScaledObject; nil if it is missing or unreadable.
func (c *Client) HPAOf(ctx context.Context, object *unstructured.Unstructured) *autoscalingv2.HorizontalPodAutoscaler {
	raw, err := c.HPA(ctx, types.NamespacedName{Namespace: object.GetNamespace(), Name: keda.HPAName(object)})
	if err != nil {
		return nil
	}
	return keda.DecodeHPA(raw)
}

// Authentications reads the TriggerAuthentications that a ScaledObject names, as far as they can be read.
func (c *Client) Authentications(
	ctx context.Context, object *unstructured.Unstructured,
) map[keda.Reference]*unstructured.Unstructured {
	found := map[keda.Reference]*unstructured.Unstructured{}
	for _, to := range keda.References(object) {
		if read, err := c.authentication(ctx, object.GetNamespace(), to); err == nil {
			found[to] = read
		}
	}
	return found
}

func (c *Client) authentication(
	ctx context.Context, namespace string, to keda.Reference,
) (*unstructured.Unstructured, error) {
	switch to.Kind {
	case keda.AuthenticationKind:
		return c.dynamic.Resource(authentications).Namespace(namespace).Get(ctx, to.Name, metav1.GetOptions{})
	case keda.ClusterAuthenticationKind:
		return c.dynamic.Resource(clusterAuthentications).Get(ctx, to.Name, metav1.GetOptions{})
	}
	return nil, fmt.Errorf("%s: an unknown kind", to)
}

// Migrated lists the WorkloadAutoscalers that replace an object of the kind. A server that does not serve
// WorkloadAutoscalers has none.
func (o *Originals) Migrated(
	ctx context.Context, namespace, selector string,
) ([]plimsollv1alpha1.WorkloadAutoscaler, error) {
	var all []plimsollv1alpha1.WorkloadAutoscaler
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		list, err := o.wla.WorkloadAutoscalers(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing WorkloadAutoscalers: %w", err)
		}
		for i := range list.Items {
			if o.isReplacedBy(&list.Items[i]) {
				all = append(all, list.Items[i])
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// isReplacedBy reports whether the WorkloadAutoscaler replaces an object of the kind. One with an unreadable manifest
// counts as that of an HPA, so that its migration fails with its name instead of being ignored.
func (o *Originals) isReplacedBy(w *plimsollv1alpha1.WorkloadAutoscaler) bool {
	from, err := convert.ToManifest(w)
	if err != nil {
		return o.kind != keda.Kind
	}
	return from != nil && from.GetKind() == o.kind
}

func (c *Client) list(
	ctx context.Context, resource schema.GroupVersionResource, kind, namespace, selector string,
) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		list, err := c.dynamic.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range list.Items {
			// Lists omit it in their items.
			list.Items[i].SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
			all = append(all, &list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}
