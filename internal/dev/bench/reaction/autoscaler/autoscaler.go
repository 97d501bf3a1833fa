// Package autoscaler makes the object that scales the workload while a subject is measured.
package autoscaler

import (
	"context"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

// Group is the API group of WorkloadAutoscalers.
var Group = plimsollv1alpha1.SchemeGroupVersion.Group

// Config configures an Autoscaler.
type Config struct {
	REST *rest.Config
	// Namespace and Name are the object's; the Deployment has the same name.
	Namespace, Name          string
	MinReplicas, MaxReplicas int32
	// Resource is the target by what the pods use.
	Resource Resource
	// Requests is the target per pod and second instead; 0 scales by Resource.
	Requests int64
	// MetricsPort is the port of the pods' own metrics. With it a WorkloadAutoscaler reads them there, as an HPA cannot.
	// Without it an HPA uses the custom metrics API.
	MetricsPort int
}

// Resource is a target by what the pods use of a resource, or one container of each.
type Resource struct {
	Name corev1.ResourceName
	// Container is the container's name; empty means the whole pod.
	Container string
	// Percent is the target of what is requested.
	Percent int32
}

// metric is of type ContainerResource for one container.
func (r *Resource) metric() autoscalingv2.MetricSpec {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &r.Percent}
	if r.Container != "" {
		return autoscalingv2.MetricSpec{
			Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: r.Name, Container: r.Container, Target: target,
			},
		}
	}
	return autoscalingv2.MetricSpec{
		Type:     autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: r.Name, Target: target},
	}
}

// Autoscaler is an HPA or a WorkloadAutoscaler.
type Autoscaler struct {
	objects dynamic.ResourceInterface
	object  *unstructured.Unstructured
}

// New makes nothing yet.
func New(c Config) (*Autoscaler, error) {
	client, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("the autoscaler: %w", err)
	}
	kind := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	kinds := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	hpa := c.hpa()
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&hpa)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if err == nil && c.MetricsPort != 0 {
		kind = plimsollv1alpha1.SchemeGroupVersion.WithKind(plimsollv1alpha1.Kind)
		kinds = plimsollv1alpha1.SchemeGroupVersion.WithResource(plimsollv1alpha1.WorkloadAutoscalers)
		own, metric := c.podEndpoint(), map[string]any(nil)
		if metric, err = runtime.DefaultUnstructuredConverter.ToUnstructured(&own); err == nil {
			err = unstructured.SetNestedSlice(object.Object, []any{metric}, "spec", "metrics")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the autoscaler: %w", err)
	}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(c.Namespace)
	object.SetName(c.Name)
	return &Autoscaler{objects: client.Resource(kinds).Namespace(c.Namespace), object: object}, nil
}

func (c *Config) hpa() autoscalingv2.HorizontalPodAutoscalerSpec {
	metric := c.Resource.metric()
	if c.Requests != 0 {
		metric = autoscalingv2.MetricSpec{
			Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: adapter.MetricPodRequests},
				Target: autoscalingv2.MetricTarget{
					Type:         autoscalingv2.AverageValueMetricType,
					AverageValue: resource.NewQuantity(c.Requests, resource.DecimalSI),
				},
			},
		}
	}
	return autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: c.Name},
		MinReplicas:    &c.MinReplicas,
		MaxReplicas:    c.MaxReplicas,
		Metrics:        []autoscalingv2.MetricSpec{metric},
	}
}

// podEndpoint is the metric that an HPA gets from the adapter, from the pods themselves.
func (c *Config) podEndpoint() plimsollv1alpha1.MetricSpec {
	return plimsollv1alpha1.MetricSpec{
		Name: "requests", Type: plimsollv1alpha1.PodEndpointMetricSourceType,
		PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port:      intstr.FromInt32(int32(c.MetricsPort)),
			Metric:    plimsollv1alpha1.SeriesIdentifier{Name: podmetrics.MetricRequests},
			ValueType: plimsollv1alpha1.RateValueType,
			Target: plimsollv1alpha1.MetricTarget{
				Type:         plimsollv1alpha1.AverageValueMetricType,
				AverageValue: resource.NewQuantity(c.Requests, resource.DecimalSI),
			},
		},
	}
}

// Create makes the object.
func (a *Autoscaler) Create(ctx context.Context) error {
	if _, err := a.objects.Create(ctx, a.object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the autoscaler: %w", err)
	}
	return nil
}

// Computed returns the reason why no count has been computed yet.
func (a *Autoscaler) Computed(ctx context.Context) error {
	object, err := a.objects.Get(ctx, a.object.GetName(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the autoscaler: %w", err)
	}
	return computed(object)
}

// Remove is no error if there is no such object, or no such kind.
func (a *Autoscaler) Remove(ctx context.Context) error {
	err := a.objects.Delete(ctx, a.object.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the autoscaler: %w", err)
	}
	return nil
}

// computed reads the conditions, which WorkloadAutoscalers have as HPAs do.
func computed(object *unstructured.Unstructured) error {
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return fmt.Errorf("read the conditions: %w", err)
	}
	for _, c := range read.Status.Conditions {
		if c.Type == string(autoscalingv2.ScalingActive) {
			if c.Status == metav1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
	}
	return errors.New("nothing decides it")
}
