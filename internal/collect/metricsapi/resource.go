package metricsapi

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	metricsv1 "k8s.io/metrics/pkg/apis/metrics/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Resource lists the PodMetrics of the pods that the selector selects. They are of type v1beta1, whichever version was
// requested: both have the same fields (KEP-5207).
func (c *Client) Resource(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	body, err := c.resource.request(ctx, namespace+"?"+selector, func(ctx context.Context) ([]byte, error) {
		return c.fetchPodMetrics(ctx, namespace, selector)
	})
	if err != nil {
		return nil, err
	}
	list := &metricsv1beta1.PodMetricsList{}
	if err := c.resource.decode(body, list); err != nil {
		return nil, err
	}
	return list, nil
}

// fetchPodMetrics retries with another version if one is not served. The server may have been replaced by one of
// another version, and the API server lists a version without a server until its APIService is deleted.
func (c *Client) fetchPodMetrics(ctx context.Context, namespace, selector string) ([]byte, error) {
	offered, err := c.resourceVersions.all(ctx)
	if err != nil {
		return nil, err
	}
	body, err := c.resource.fetch(ctx, c.podMetrics(offered[0], namespace, selector))
	if !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
		return body, err
	}
	other, isThere := c.resourceVersions.other(ctx, offered[0])
	if !isThere {
		return nil, err
	}
	body, otherErr := c.resource.fetch(ctx, c.podMetrics(other, namespace, selector))
	if otherErr != nil {
		return nil, err
	}
	c.resourceVersions.prefer(other)
	return body, nil
}

func (c *Client) podMetrics(version schema.GroupVersion, namespace, selector string) *rest.Request {
	client := c.resource.client
	if version == metricsv1.SchemeGroupVersion {
		client = c.resourceV1
	}
	request := client.Get().Namespace(namespace).Resource("pods")
	if selector != "" {
		request = request.Param("labelSelector", selector)
	}
	return request
}

// resourceMetricsVersions returns v1, which Kubernetes has since 1.37, and v1beta1, if they are served.
func resourceMetricsVersions(group *metav1.APIGroup) []schema.GroupVersion {
	known := []schema.GroupVersion{metricsv1.SchemeGroupVersion, metricsv1beta1.SchemeGroupVersion}
	return slices.DeleteFunc(known, func(version schema.GroupVersion) bool {
		return !slices.ContainsFunc(group.Versions, func(served metav1.GroupVersionForDiscovery) bool {
			return served.GroupVersion == version.String()
		})
	})
}
