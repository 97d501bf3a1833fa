package metricsapi

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	custommetricsv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
)

// AllObjects as a query's name requests every object that its selector selects.
const AllObjects = custommetricsv1beta2.AllObjects

// CustomQuery names values of the custom metrics API.
type CustomQuery struct {
	// Namespace is the objects' namespace. For the metrics of a Namespace object it is that namespace.
	Namespace string
	// Kind is the kind of the objects that the metric describes.
	Kind schema.GroupKind
	// Name is an object's name, or AllObjects.
	Name string
	// Selector selects the objects; only with AllObjects.
	Selector string
	// Metric is the metric's name, MetricSelector selects among its series.
	Metric, MetricSelector string
}

// Custom requests values from the custom metrics API. The list for a single object has exactly one item.
func (c *Client) Custom(ctx context.Context, query CustomQuery) (*custommetricsv1beta2.MetricValueList, error) {
	path, err := c.pathOf(query)
	if err != nil {
		return nil, err
	}
	var version schema.GroupVersion
	body, err := c.custom.request(ctx, fmt.Sprint(query), func(ctx context.Context) ([]byte, error) {
		offered, err := c.customVersions.all(ctx)
		if err != nil {
			return nil, err
		}
		version = offered[0]
		client := c.custom.client
		if version == custommetricsv1beta1.SchemeGroupVersion {
			client = c.customV1Beta1
		}
		return c.custom.fetch(ctx, path.request(client, query))
	})
	if err != nil {
		return nil, err
	}
	list := &custommetricsv1beta2.MetricValueList{}
	if version == custommetricsv1beta1.SchemeGroupVersion {
		old := &custommetricsv1beta1.MetricValueList{}
		err = c.custom.decode(body, old)
		list = fromV1Beta1(old)
	} else {
		err = c.custom.decode(body, list)
	}
	if err != nil {
		return nil, err
	}
	if query.Name != AllObjects && len(list.Items) != 1 {
		return nil, fmt.Errorf("the custom metrics API server returned %d results when we asked for exactly one",
			len(list.Items))
	}
	return list, nil
}

// customPath is the path to the values of a kind of objects.
type customPath struct {
	resource string
	// isNamespace is true for the metrics of Namespace objects.
	isNamespace bool
}

// pathOf may request discovery from the API server. It takes no slot for that.
func (c *Client) pathOf(query CustomQuery) (customPath, error) {
	if query.Kind == (schema.GroupKind{Kind: "Namespace"}) {
		return customPath{isNamespace: true}, nil
	}
	mapping, err := c.mapper.RESTMapping(query.Kind)
	if err != nil {
		return customPath{}, fmt.Errorf("unable to map kind %s to resource: %w", query.Kind, err)
	}
	return customPath{resource: mapping.Resource.GroupResource().String()}, nil
}

func (p customPath) request(client rest.Interface, query CustomQuery) *rest.Request {
	request := client.Get().Namespace(query.Namespace)
	if p.isNamespace {
		request = request.Resource("metrics").Name(query.Metric)
	} else {
		request = request.Resource(p.resource).Name(query.Name).SubResource(query.Metric)
	}
	if query.Selector != "" {
		request = request.Param("labelSelector", query.Selector)
	}
	if query.MetricSelector != "" {
		request = request.Param("metricLabelSelector", query.MetricSelector)
	}
	return request
}

func fromV1Beta1(old *custommetricsv1beta1.MetricValueList) *custommetricsv1beta2.MetricValueList {
	list := &custommetricsv1beta2.MetricValueList{ListMeta: old.ListMeta}
	for i := range old.Items {
		item := &old.Items[i]
		list.Items = append(list.Items, custommetricsv1beta2.MetricValue{
			DescribedObject: item.DescribedObject,
			Metric:          custommetricsv1beta2.MetricIdentifier{Name: item.MetricName, Selector: item.Selector},
			Timestamp:       item.Timestamp,
			WindowSeconds:   item.WindowSeconds,
			Value:           item.Value,
		})
	}
	return list
}

// customMetricsVersions returns the supported versions, the cluster's preferred one first.
func customMetricsVersions(group *metav1.APIGroup) (known []schema.GroupVersion) {
	for _, offer := range append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...) {
		switch offer.GroupVersion {
		case custommetricsv1beta2.SchemeGroupVersion.String():
			known = append(known, custommetricsv1beta2.SchemeGroupVersion)
		case custommetricsv1beta1.SchemeGroupVersion.String():
			known = append(known, custommetricsv1beta1.SchemeGroupVersion)
		}
	}
	return known
}
