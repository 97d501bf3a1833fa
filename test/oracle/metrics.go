package oracle

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	custommetricsclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetricsclient "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
)

func (w *world) answers() *Answers {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &w.now.Answers
}

// resource selects as metrics-server does, by the labels of the pods.
func (a *Answers) resource(selector string) (*metricsv1beta1.PodMetricsList, error) {
	if a.ResourceError != "" {
		return nil, errors.New(a.ResourceError)
	}
	wanted, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	list := a.Resource.DeepCopy()
	list.Items = slices.DeleteFunc(list.Items,
		func(m metricsv1beta1.PodMetrics) bool { return !wanted.Matches(labels.Set(m.Labels)) })
	return list, nil
}

func (a *Answers) custom(metric string) (*custommetricsv1beta2.MetricValueList, error) {
	if text := a.Errors[metric]; text != "" {
		return nil, errors.New(text)
	}
	return a.Custom[metric].DeepCopy(), nil
}

func (a *Answers) external(metric string) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	if text := a.Errors[metric]; text != "" {
		return nil, errors.New(text)
	}
	return a.External[metric].DeepCopy(), nil
}

// forPlimsoll answers as Plimsoll asks.
type forPlimsoll struct{ w *world }

var _ query.Source = forPlimsoll{}

// Resource implements horizontal.MetricsSource.
func (f forPlimsoll) Resource(_ context.Context, _, selector string) (*metricsv1beta1.PodMetricsList, error) {
	return f.w.answers().resource(selector)
}

// Custom implements horizontal.MetricsSource.
func (f forPlimsoll) Custom(
	_ context.Context, query metricsapi.CustomQuery,
) (*custommetricsv1beta2.MetricValueList, error) {
	return f.w.answers().custom(query.Metric)
}

// External implements horizontal.MetricsSource.
func (f forPlimsoll) External(
	_ context.Context, _, metric, _ string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	return f.w.answers().external(metric)
}

// The clients below answer as upstream's own metrics client asks.
type (
	podMetrics struct {
		metricsclient.PodMetricsInterface
		w *world
	}
	customMetrics   struct{ w *world }
	externalMetrics struct{ w *world }
	resourceMetrics struct{ w *world }
)

var (
	_ metricsclient.PodMetricsesGetter            = resourceMetrics{}
	_ custommetricsclient.CustomMetricsClient     = customMetrics{}
	_ externalmetricsclient.ExternalMetricsClient = externalMetrics{}
)

// PodMetricses implements PodMetricsesGetter.
func (m resourceMetrics) PodMetricses(string) metricsclient.PodMetricsInterface {
	return podMetrics{w: m.w}
}

// List implements PodMetricsInterface.
func (m podMetrics) List(_ context.Context, o metav1.ListOptions) (*metricsv1beta1.PodMetricsList, error) {
	return m.w.answers().resource(o.LabelSelector)
}

// RootScopedMetrics implements CustomMetricsClient.
func (m customMetrics) RootScopedMetrics() custommetricsclient.MetricsInterface { return m }

// NamespacedMetrics implements CustomMetricsClient.
func (m customMetrics) NamespacedMetrics(string) custommetricsclient.MetricsInterface { return m }

// GetForObject implements MetricsInterface.
func (m customMetrics) GetForObject(
	_ schema.GroupKind, _, metric string, _ labels.Selector,
) (*custommetricsv1beta2.MetricValue, error) {
	list, err := m.w.answers().custom(metric)
	if err != nil {
		return nil, err
	}
	return &list.Items[0], nil
}

// GetForObjects implements MetricsInterface.
func (m customMetrics) GetForObjects(
	_ schema.GroupKind, _ labels.Selector, metric string, _ labels.Selector,
) (*custommetricsv1beta2.MetricValueList, error) {
	return m.w.answers().custom(metric)
}

type externalIn struct{ w *world }

// NamespacedMetrics implements ExternalMetricsClient.
func (m externalMetrics) NamespacedMetrics(string) externalmetricsclient.MetricsInterface {
	return externalIn(m)
}

// List implements MetricsInterface.
func (m externalIn) List(metric string, _ labels.Selector) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	return m.w.answers().external(metric)
}
