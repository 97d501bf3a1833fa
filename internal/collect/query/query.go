// Package query puts the questions of a HorizontalPodAutoscaler's metrics to the
// metrics APIs.
package query

import (
	"context"
	"errors"
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
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Source answers for the three metrics APIs. Each call must end by itself,
// whatever the API does.
type Source interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
	Custom(ctx context.Context, query metricsapi.CustomQuery) (*custommetricsv1beta2.MetricValueList, error)
	External(ctx context.Context, namespace, metric, selector string) (*externalmetricsv1beta1.ExternalMetricValueList, error)
}

var _ Source = (*metricsapi.Client)(nil)

// Answer is what a metrics API said to one metric. All of it is empty where the
// core finds the metric wrong by itself, and nobody was asked.
type Answer struct {
	Resource *metricsv1beta1.PodMetricsList
	Custom   *custommetricsv1beta2.MetricValueList
	External *externalmetricsv1beta1.ExternalMetricValueList
	Err      error
}

// Reading is what the core reads in the answer to metric i.
func (a *Answer) Reading(translate *observehorizontal.Answers, i int, kind source.Type) metric.Reading {
	switch {
	case a.Err != nil:
		return observehorizontal.Failed(a.Err)
	case kind == source.Pods:
		return translate.Pods(i, a.Custom)
	case kind == source.Object:
		return translate.Object(i, single(a.Custom))
	case kind == source.External:
		return translate.External(i, a.External)
	default:
		return translate.Resource(i, a.Resource)
	}
}

func single(list *custommetricsv1beta2.MetricValueList) *custommetricsv1beta2.MetricValue {
	if list == nil || len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

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
	resource      Answer
	resourceAsked time.Time
}

// Ask puts the question of metric i. What the core finds wrong with the spec
// by itself is not asked. Asked is when the API was, after any waiting for a slot.
func (q *Questions) Ask(ctx context.Context, i int) (a Answer, asked time.Time) {
	call := &metricsapi.Call{Object: types.NamespacedName{Namespace: q.HPA.Namespace, Name: q.HPA.Name}, Began: time.Now()}
	a = q.ask(metricsapi.WithCall(ctx, call), i)
	return a, call.Began
}

func (q *Questions) ask(ctx context.Context, i int) (a Answer) {
	defer func() {
		// Decoding what a stranger sent must not end the process.
		if r := recover(); r != nil {
			a = Answer{Err: fmt.Errorf("reading the answer failed: %v", r)}
		}
	}()
	spec, known := &q.HPA.Spec.Metrics[i], &q.Policy.Metrics[i]
	if known.Target.Type == "" || known.SelectorError != "" {
		return Answer{}
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
			a.External, err = q.Source.External(ctx, q.HPA.Namespace, spec.External.Metric.Name, selector)
		}
		a.Err = err
		return a
	default:
		return Answer{Err: errors.New("unknown metric source type")}
	}
}

func (q *Questions) askPods(ctx context.Context, source *autoscalingv2.PodsMetricSource) (a Answer) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return Answer{Err: err}
	}
	a.Custom, a.Err = q.Source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.HPA.Namespace, Kind: schema.GroupKind{Kind: "Pod"}, Name: metricsapi.AllObjects,
		Selector: q.Selector, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return a
}

func (q *Questions) askObject(ctx context.Context, source *autoscalingv2.ObjectMetricSource) (a Answer) {
	selector, err := selectorText(source.Metric.Selector)
	if err != nil {
		return Answer{Err: err}
	}
	described := source.DescribedObject
	a.Custom, a.Err = q.Source.Custom(ctx, metricsapi.CustomQuery{
		Namespace: q.HPA.Namespace, Kind: schema.FromAPIVersionAndKind(described.APIVersion, described.Kind).GroupKind(),
		Name: described.Name, Metric: source.Metric.Name, MetricSelector: selector,
	})
	return a
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
