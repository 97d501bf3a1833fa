package population

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// isInHalf reports whether a workload is one of those that Replace changes: every second one.
func isInHalf(object int) bool { return object%2 == 1 }

// Replace gives every second workload a WorkloadAutoscaler instead of its HPA, with the same name and spec, or its HPA
// again. No autoscaler runs meanwhile.
func Replace(ctx context.Context, config Config, byWorkloadAutoscalers bool) error {
	c := &creation{Config: config}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	replace := c.restoreHPA
	if byWorkloadAutoscalers {
		replace = c.replaceHPA
	}
	err := c.each(ctx, config.Size.Objects, func(ctx context.Context, object int) error {
		if !isInHalf(object) {
			return nil
		}
		return replace(ctx, object)
	})
	if err != nil {
		return fmt.Errorf("population: replace autoscalers: %w", err)
	}
	return nil
}

func (c *creation) replaceHPA(ctx context.Context, object int) error {
	hpas := c.Client.AutoscalingV2().HorizontalPodAutoscalers(c.Size.NamespaceOf(object))
	if err := hpas.Delete(ctx, ObjectName(object), metav1.DeleteOptions{}); err != nil {
		return err
	}
	wla, err := c.Size.workloadAutoscaler(object)
	if err != nil {
		return err
	}
	_, err = c.workloadAutoscalers(object).Create(ctx, wla, metav1.CreateOptions{})
	return err
}

func (c *creation) restoreHPA(ctx context.Context, object int) error {
	if err := c.workloadAutoscalers(object).Delete(ctx, ObjectName(object), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.hpa(ctx, object)
}

func (c *creation) workloadAutoscalers(object int) dynamic.ResourceInterface {
	resource := plimsollv1alpha1.SchemeGroupVersion.WithResource(plimsollv1alpha1.WorkloadAutoscalers)
	return c.Dynamic.Resource(resource).Namespace(c.Size.NamespaceOf(object))
}

// workloadAutoscaler has the spec of the workload's HPA.
func (s Size) workloadAutoscaler(object int) (*unstructured.Unstructured, error) {
	hpa := s.autoscaler(object)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&hpa.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec of %s: %w", hpa.Name, err)
	}
	wla := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	wla.SetGroupVersionKind(plimsollv1alpha1.SchemeGroupVersion.WithKind(plimsollv1alpha1.Kind))
	wla.SetNamespace(hpa.Namespace)
	wla.SetName(hpa.Name)
	wla.SetLabels(hpa.Labels)
	return wla, nil
}
