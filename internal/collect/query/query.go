// Package query requests the metrics of an autoscaler from the metrics APIs.
package query

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// Source reads the three metrics APIs. Each call must end on time, whatever the API does.
type Source interface {
	Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error)
	Custom(ctx context.Context, query metricsapi.CustomQuery) (*custommetricsv1beta2.MetricValueList, error)
	External(ctx context.Context, namespace, metric, selector string) (*externalmetricsv1beta1.ExternalMetricValueList,
		error)
}

var _ Source = (*metricsapi.Client)(nil)

// Questions are the requests of one decision about an object. Ask may be called concurrently.
type Questions struct {
	Source     Source
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	// Selector is the selector of the scale.
	Selector string
	// Log logs unreadable responses; it may be the zero Logger.
	Log logr.Logger

	// once requests the pods' metrics: several metrics are read from one response.
	once          sync.Once
	resource      observehorizontal.Response
	resourceAsked time.Time
}

// Ask requests the values of metric i. A spec with an error of its own is not requested. asked is the time of the
// request, after any waiting for a slot.
func (q *Questions) Ask(ctx context.Context, i int) (r observehorizontal.Response, asked time.Time) {
	call := &metricsapi.Call{Object: q.Autoscaler.Key().NamespacedName, Began: time.Now()}
	r = q.ask(metricsapi.WithCall(ctx, call), i)
	return r, call.Began
}

func (q *Questions) ask(ctx context.Context, i int) (r observehorizontal.Response) {
	defer func() {
		// A panic while decoding untrusted input must not end the process.
		if cause := recover(); cause != nil {
			panics.Report(cause, q.Log, nil, "reading the answer of a metrics API failed", "object", q.Autoscaler.Key().String())
			r = observehorizontal.Response{Err: fmt.Errorf("reading the answer failed: %v", cause)}
		}
	}()
	m, known := q.Autoscaler.Metric(i), &q.Policy.Metrics[i]
	if known.Target.Type == "" || known.SelectorError != "" {
		return observehorizontal.Response{}
	}
	namespace := q.Autoscaler.Namespace
	switch m.Type {
	case source.Resource, source.ContainerResource:
		q.once.Do(func() {
			q.resource.Resource, q.resource.Err = q.Source.Resource(ctx, namespace, q.Selector)
			q.resourceAsked = metricsapi.CallOf(ctx).Began
		})
		metricsapi.CallOf(ctx).Began = q.resourceAsked
		return q.resource
	case source.Pods, source.Object, source.External:
	default:
		return observehorizontal.Response{Err: fmt.Errorf("no metrics API has metrics of type %s", m.Type)}
	}
	selector, err := selectorText(m.Selector)
	if err != nil {
		return observehorizontal.Response{Err: err}
	}
	custom := metricsapi.CustomQuery{Namespace: namespace, Metric: m.Name, MetricSelector: selector}
	switch m.Type {
	case source.Pods:
		custom.Kind, custom.Name, custom.Selector = schema.GroupKind{Kind: "Pod"}, metricsapi.AllObjects, q.Selector
		r.Custom, r.Err = q.Source.Custom(ctx, custom)
	case source.Object:
		custom.Kind = schema.FromAPIVersionAndKind(m.Object.APIVersion, m.Object.Kind).GroupKind()
		custom.Name = m.Object.Name
		r.Custom, r.Err = q.Source.Custom(ctx, custom)
	default:
		r.External, r.Err = q.Source.External(ctx, namespace, m.Name, selector)
	}
	return r
}

// selectorText returns a metric's selector in the form of the APIs; nil and an empty selector select everything.
func selectorText(selector *metav1.LabelSelector) (string, error) {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return "", err
	}
	return s.String(), nil
}
