package population

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

// Autoscalers selects the autoscalers of the workloads.
type Autoscalers int

// The kinds of autoscalers.
const (
	// HPAs is the result of Create.
	HPAs Autoscalers = iota
	// Half is a WorkloadAutoscaler for every second workload instead of its HPA, with the same name and spec.
	Half
	// OwnMetrics is a WorkloadAutoscaler for each workload, on the requests that its pods count themselves.
	OwnMetrics
)

// of is the kind of one workload's: only Half differs.
func (a Autoscalers) of(object int) Autoscalers {
	if a == Half && object%2 == 0 {
		return HPAs
	}
	return a
}

// Replace gives the workloads other autoscalers than before. No autoscaler runs meanwhile.
func Replace(ctx context.Context, config Config, before, after Autoscalers) error {
	c := &creation{Config: config}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if after == OwnMetrics && c.MetricsPort == 0 {
		return errors.New("population: the pods serve no metrics")
	}
	err := c.each(ctx, config.Size.Objects, func(ctx context.Context, object int) error {
		if before.of(object) == after.of(object) {
			return nil
		}
		if err := c.remove(ctx, object, before.of(object)); err != nil {
			return err
		}
		return c.autoscaler(ctx, object, after.of(object))
	})
	if err != nil {
		return fmt.Errorf("population: replace autoscalers: %w", err)
	}
	return nil
}

func (c *creation) remove(ctx context.Context, object int, kind Autoscalers) error {
	if kind != HPAs {
		return c.workloadAutoscalers(object).Delete(ctx, ObjectName(object), metav1.DeleteOptions{})
	}
	return c.Client.AutoscalingV2().HorizontalPodAutoscalers(c.Size.NamespaceOf(object)).Delete(ctx, ObjectName(object),
		metav1.DeleteOptions{})
}

func (c *creation) autoscaler(ctx context.Context, object int, kind Autoscalers) error {
	if kind == HPAs {
		return c.hpa(ctx, object)
	}
	wla, err := c.Size.workloadAutoscaler(object)
	if err == nil && kind == OwnMetrics {
		err = setOwnMetrics(wla, c.MetricsPort)
	}
	if err == nil {
		_, err = c.workloadAutoscalers(object).Create(ctx, wla, metav1.CreateOptions{})
	}
	return err
}

// setOwnMetrics replaces the metrics by the requests that the pods count themselves.
func setOwnMetrics(wla *unstructured.Unstructured, port int) error {
	metric, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&plimsollv1alpha1.MetricSpec{
		Name: "requests", Type: plimsollv1alpha1.PodEndpointMetricSourceType,
		PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port:      intstr.FromInt(port),
			Metric:    plimsollv1alpha1.SeriesIdentifier{Name: podmetrics.MetricRequests},
			ValueType: plimsollv1alpha1.RateValueType,
			Target: plimsollv1alpha1.MetricTarget{
				Type:         plimsollv1alpha1.AverageValueMetricType,
				AverageValue: resource.NewQuantity(RequestsPerSecond, resource.DecimalSI),
			},
		},
	})
	if err == nil {
		err = unstructured.SetNestedSlice(wla.Object, []any{metric}, "spec", "metrics")
	}
	if err != nil {
		return fmt.Errorf("metrics of %s: %w", wla.GetName(), err)
	}
	return nil
}

func (c *creation) workloadAutoscalers(object int) dynamic.ResourceInterface {
	resource := plimsollv1alpha1.SchemeGroupVersion.WithResource(plimsollv1alpha1.WorkloadAutoscalers)
	return c.Dynamic.Resource(resource).Namespace(c.Size.NamespaceOf(object))
}

// workloadAutoscaler has the spec of the workload's HPA, and a name for its metric.
func (s Size) workloadAutoscaler(object int) (*unstructured.Unstructured, error) {
	hpa := s.autoscaler(object)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&hpa.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec of %s: %w", hpa.Name, err)
	}
	metrics, _ := spec["metrics"].([]any)
	for _, metric := range metrics {
		if fields, ok := metric.(map[string]any); ok {
			fields["name"] = "cpu"
		}
	}
	wla := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	wla.SetGroupVersionKind(plimsollv1alpha1.SchemeGroupVersion.WithKind(plimsollv1alpha1.Kind))
	wla.SetNamespace(hpa.Namespace)
	wla.SetName(hpa.Name)
	wla.SetLabels(hpa.Labels)
	return wla, nil
}
