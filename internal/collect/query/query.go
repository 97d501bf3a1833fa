// Package query requests the metrics of a HorizontalPodAutoscaler from the metrics APIs.
package query

import (
	"context"
	"fmt"
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Source answers for the three metrics APIs. Each call must end by itself,
// whatever the API does.
type Source interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
	Custom(ctx context.Context, query metricsapi.CustomQuery) (*custommetricsv1beta2.MetricValueList, error)
	External(ctx context.Context, namespace, metric, selector string) (*externalmetricsv1beta1.ExternalMetricValueList,
		error)
}

var _ Source = (*metricsapi.Client)(nil)

// Questions are those of one object, at one moment. They may be asked side by
// side.
type Questions struct {
	Source Source
	HPA    *autoscalingv2.HorizontalPodAutoscaler
	Policy *horizontal.Policy
	// Selector is the scale's.
	Selector string

	// once asks for the pods' metrics: several metrics are read from one answer.
	once          sync.Once
	resource      observehorizontal.Response
	resourceAsked time.Time
}

// Ask puts the question of metric i. What the core finds wrong with the spec
// by itself is not asked. Asked is when the API was, after any waiting for a slot.
func (q *Questions) Ask(ctx context.Context, i int) (r observehorizontal.Response, asked time.Time) {
	call := &metricsapi.Call{Object: types.NamespacedName{Namespace: q.HPA.Namespace, Name: q.HPA.Name}, Began: time.Now()}
	r = q.ask(metricsapi.WithCall(ctx, call), i)
	return r, call.Began
}

func (q *Questions) ask(ctx context.Context, i int) (r observehorizontal.Response) {
	defer func() {
		// Decoding what a stranger sent must not end the process.
		if cause := recover(); cause != nil {
			r = observehorizontal.Response{Err: fmt.Errorf("reading the answer failed: %v", cause)}
		}
	}()
	spec, known := &q.HPA.Spec.Metrics[i], &q.Policy.Metrics[i]
	if known.Target.Type == "" || known.SelectorError != "" {
		return observehorizontal.Response{}
	}
	switch known.Type {
	case source.Resource, source.ContainerResource:
		q.once.Do(func() {
			q.resource.Resource, q.resource.Err = q.Source.Resource(ctx, q.HPA.Namespace, q.Selector)
			q.resourceAsked = metricsapi.CallOf(ctx).Began
		})
		metricsapi.CallOf(ctx).Began = q.resourceAsked
		return q.resource
	case source.Pods:
		return q.askPods(ctx, spec.Pods)
	case source.Object:
		return q.askObject(ctx, spec.Object)
	case source.External:
		selector, err := selectorText(spec.External.Metric.Selector)
		if err == nil {
			r.External, err = q.Source.External(ctx, q.HPA.Namespace, spec.External.Metric.Name, selector)
		}
		r.Err = err
		return r
	default:
		return observehorizontal.Response{
			Err: fmt.Errorf("no metrics API has metrics of type %s", known.Type),
		}
	}
}

func (q *Questions) askPods(
	ctx context.Context, source *autoscalingv2.PodsMetricSource,
) (r observehorizontal.Response) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return observehorizontal.Response{Err: err}
	}
	r.Custom, r.Err = q.Source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.HPA.Namespace, Kind: schema.GroupKind{Kind: "Pod"}, Name: metricsapi.AllObjects,
		Selector: q.Selector, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return r
}

func (q *Questions) askObject(
	ctx context.Context, source *autoscalingv2.ObjectMetricSource,
) (r observehorizontal.Response) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return observehorizontal.Response{Err: err}
	}
	described := source.DescribedObject
	r.Custom, r.Err = q.Source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.HPA.Namespace, Kind: schema.FromAPIVersionAndKind(described.APIVersion, described.Kind).GroupKind(),
		Name: described.Name, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return r
}

// selectorText is a metric's selector as the APIs take it; none and an empty
// one select everything.
func selectorText(selector *metav1.LabelSelector) (string, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return "", err
	}
	return s.String(), nil
}
