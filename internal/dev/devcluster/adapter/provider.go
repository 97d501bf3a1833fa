package adapter

import (
	"cmp"
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/metrics/pkg/apis/custom_metrics"
	"k8s.io/metrics/pkg/apis/external_metrics"
	metricsprovider "sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
)

// The metrics, see the package comment.
const (
	MetricPodRequests     = "http_requests_per_second"
	MetricServiceRequests = "requests_per_second"
	MetricQueueLength     = "queue_length"
)

var (
	pods       = schema.GroupResource{Resource: "pods"}
	services   = schema.GroupResource{Resource: "services"}
	namespaces = schema.GroupResource{Resource: "namespaces"}
)

// provider answers for both API groups.
type provider struct {
	source Source
	faults *Faults
}

var _ metricsprovider.MetricsProvider = (*provider)(nil)

// ListAllMetrics returns those in the discovery of custom.metrics.k8s.io.
func (p *provider) ListAllMetrics() []metricsprovider.CustomMetricInfo {
	return []metricsprovider.CustomMetricInfo{
		{GroupResource: pods, Namespaced: true, Metric: MetricPodRequests},
		{GroupResource: services, Namespaced: true, Metric: MetricServiceRequests},
		{GroupResource: namespaces, Namespaced: false, Metric: MetricServiceRequests},
	}
}

// ListAllExternalMetrics returns those in the discovery of external.metrics.k8s.io.
func (p *provider) ListAllExternalMetrics() []metricsprovider.ExternalMetricInfo {
	return []metricsprovider.ExternalMetricInfo{{Metric: MetricQueueLength}}
}

// sample is one value of one object, before it takes the form of an API.
type sample struct {
	name   string
	labels labels.Set
	value  float64
}

// GetMetricByName answers for one object; one without this metric is not found.
func (p *provider) GetMetricByName(
	_ context.Context, name types.NamespacedName, info metricsprovider.CustomMetricInfo, metricSelector labels.Selector,
) (*custom_metrics.MetricValue, error) {
	namespace := name.Namespace
	if info.GroupResource == namespaces {
		namespace = name.Name
	}
	samples, err := p.samples(namespace, labels.Everything(), info)
	if err != nil {
		return nil, err
	}
	for _, s := range p.faults.of(namespace, info.Metric).distort(samples) {
		if s.name == name.Name && metricSelector.Matches(s.labels) {
			value := p.metricValue(name.Namespace, s, info, metricSelector)
			return &value, nil
		}
	}
	return nil, metricsprovider.NewMetricNotFoundForSelectorError(info.GroupResource,
		info.Metric, name.Name, metricSelector)
}

// GetMetricBySelector answers for all objects whose labels match.
func (p *provider) GetMetricBySelector(
	_ context.Context, namespace string, selector labels.Selector, info metricsprovider.CustomMetricInfo,
	metricSelector labels.Selector,
) (*custom_metrics.MetricValueList, error) {
	if info.GroupResource == namespaces {
		return nil, apierrors.NewBadRequest("metrics of namespaces are served one by one")
	}
	samples, err := p.samples(namespace, selector, info)
	if err != nil {
		return nil, err
	}
	list := &custom_metrics.MetricValueList{Items: []custom_metrics.MetricValue{}}
	for _, s := range p.faults.of(namespace, info.Metric).distort(samples) {
		if metricSelector.Matches(s.labels) {
			list.Items = append(list.Items, p.metricValue(namespace, s, info, metricSelector))
		}
	}
	return list, nil
}

// samples are the values of one metric in one namespace.
func (p *provider) samples(
	namespace string, selector labels.Selector, info metricsprovider.CustomMetricInfo,
) ([]sample, error) {
	switch {
	case info.GroupResource == pods && info.Metric == MetricPodRequests:
		return podSamples(p.source.Pods(namespace, selector)), nil
	case info.GroupResource == services && info.Metric == MetricServiceRequests:
		if !selector.Empty() {
			return nil, apierrors.NewBadRequest("services cannot be chosen by their labels here, only by name")
		}
		return p.serviceSamples(namespace, func(s world.ServiceView) float64 { return s.Stats.OfferedPerSecond }), nil
	case info.GroupResource == namespaces && info.Metric == MetricServiceRequests:
		return p.namespaceSamples(namespace), nil
	}
	return nil, metricsprovider.NewMetricNotFoundError(info.GroupResource, info.Metric)
}

func podSamples(views []world.PodView) []sample {
	samples := make([]sample, len(views))
	for i, pod := range views {
		samples[i] = sample{name: pod.Name, labels: labels.Set{"service": pod.Service}, value: pod.Stats.ServedPerSecond}
	}
	return samples
}

func (p *provider) serviceSamples(namespace string, value func(world.ServiceView) float64) []sample {
	views := p.source.Services(namespace)
	samples := make([]sample, len(views))
	for i, s := range views {
		samples[i] = sample{name: s.Name, labels: labels.Set{"service": s.Name, "namespace": namespace}, value: value(s)}
	}
	return samples
}

// namespaceSamples is one sum, or empty if no Service of the namespace has a load.
func (p *provider) namespaceSamples(namespace string) []sample {
	views := p.source.Services(namespace)
	if len(views) == 0 {
		return nil
	}
	sum := sample{name: namespace, labels: labels.Set{"namespace": namespace}}
	for _, s := range views {
		sum.value += s.Stats.OfferedPerSecond
	}
	return []sample{sum}
}

func (p *provider) metricValue(
	namespace string, s sample, info metricsprovider.CustomMetricInfo, metricSelector labels.Selector,
) custom_metrics.MetricValue {
	value := custom_metrics.MetricValue{
		DescribedObject: custom_metrics.ObjectReference{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: kindOf(info.GroupResource), Namespace: namespace, Name: s.name,
		},
		Metric:    custom_metrics.MetricIdentifier{Name: info.Metric},
		Timestamp: metav1.NewTime(p.source.At()),
		// A namespace's own metric has no namespace but its name.
		Value: p.faults.of(cmp.Or(namespace, s.name), info.Metric).quantity(s.value),
	}
	if !metricSelector.Empty() {
		// An error would mean that the selector cannot be written as one of the API's; it came from there.
		if selector, err := metav1.ParseToLabelSelector(metricSelector.String()); err == nil {
			value.Metric.Selector = selector
		}
	}
	return value
}

func kindOf(r schema.GroupResource) string {
	switch r {
	case pods:
		return "Pod"
	case services:
		return "Service"
	default:
		return "Namespace"
	}
}

// GetExternalMetric returns one value per Service of the namespace. Other namespaces' queues are not visible, so that a
// selector without the namespace does not sum up others' queues.
func (p *provider) GetExternalMetric(
	_ context.Context, namespace string, metricSelector labels.Selector, info metricsprovider.ExternalMetricInfo,
) (*external_metrics.ExternalMetricValueList, error) {
	if info.Metric != MetricQueueLength {
		return nil,
			metricsprovider.NewMetricNotFoundError(schema.GroupResource{Group: external_metrics.GroupName, Resource: "external"},
				info.Metric)
	}
	fault := p.faults.of(namespace, info.Metric)
	samples := p.serviceSamples(namespace, func(s world.ServiceView) float64 { return s.Stats.QueueLength })
	list := &external_metrics.ExternalMetricValueList{Items: []external_metrics.ExternalMetricValue{}}
	for _, s := range fault.distort(samples) {
		if metricSelector.Matches(s.labels) {
			list.Items = append(list.Items, external_metrics.ExternalMetricValue{
				MetricName: info.Metric, MetricLabels: s.labels,
				Timestamp: metav1.NewTime(p.source.At()), Value: fault.quantity(s.value),
			})
		}
	}
	return list, nil
}

// milliQuantity rounds to thousandths, the finest that HPAs calculate with.
func milliQuantity(value float64) resource.Quantity {
	return *resource.NewMilliQuantity(int64(math.Round(value*1000)), resource.DecimalSI)
}
