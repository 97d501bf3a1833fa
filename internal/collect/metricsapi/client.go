// Package metricsapi reads the values that a HorizontalPodAutoscaler names from the three metrics APIs of a cluster:
// metrics.k8s.io, custom.metrics.k8s.io and external.metrics.k8s.io. Every call has a deadline, every response a
// maximum size, and each API its own slots, for which namespaces and objects take turns: a slow adapter gets fewer
// requests without any call failing for that, and a metric that hangs or an object with very many metrics costs others
// next to nothing.
package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	custommetricsv1beta1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1 "k8s.io/metrics/pkg/apis/metrics/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// The defaults of Config.
const (
	DefaultTimeout          = 10 * time.Second
	DefaultMaxResponseBytes = 64 << 20
	DefaultSlots            = 16
	DefaultDiscoveryPeriod  = 15 * time.Second
)

// Config configures a Client.
type Config struct {
	// Rest configures the connection to the API server.
	Rest *rest.Config
	// Mapper maps the kind of an Object metric's described object to its resource.
	Mapper meta.RESTMapper
	// Timeout bounds one call. It begins when the call has a slot.
	Timeout time.Duration
	// MaxResponseBytes bounds the size of one response.
	MaxResponseBytes int64
	// Slots is the number of calls to one API that may run at a time. The others wait, bounded only by their context.
	Slots int
	// DiscoveryPeriod is how long the versions of the resource and the custom metrics API are cached.
	DiscoveryPeriod time.Duration
	// Period is the time between two requests for the same object; Log reports an API that is too slow for it; Registerer
	// gets the metrics of waiting times. All are optional.
	Period     time.Duration
	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Client reads the metrics APIs. It is safe for concurrent use.
type Client struct {
	resource, custom, external *source
	// resourceV1 and customV1Beta1 request the versions that the sources do not.
	resourceV1, customV1Beta1        rest.Interface
	resourceVersions, customVersions *versions
	mapper                           meta.RESTMapper
}

// New checks the configuration and makes a client. It makes no request.
func New(cfg Config) (*Client, error) {
	if cfg.Rest == nil || cfg.Mapper == nil {
		return nil, errors.New("metrics API client: a REST config and a RESTMapper are needed")
	}
	cfg = cfg.withDefaults()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		metricsv1beta1.AddToScheme, custommetricsv1beta1.AddToScheme, custommetricsv1beta2.AddToScheme,
		externalmetricsv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("metrics API client: %w", err)
		}
	}
	scheme.AddKnownTypes(metricsv1.SchemeGroupVersion, &metricsv1beta1.PodMetricsList{})
	loads, err := newLoads(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("metrics API client: %w", err)
	}
	build := builder{config: cfg, codecs: serializer.NewCodecFactory(scheme), loads: loads}
	c := &Client{
		mapper:        cfg.Mapper,
		resource:      build.source("resource metrics API", metricsv1beta1.SchemeGroupVersion),
		resourceV1:    build.rest(metricsv1.SchemeGroupVersion),
		custom:        build.source("custom metrics API", custommetricsv1beta2.SchemeGroupVersion),
		external:      build.source("external metrics API", externalmetricsv1beta1.SchemeGroupVersion),
		customV1Beta1: build.rest(custommetricsv1beta1.SchemeGroupVersion),
	}
	if build.err != nil {
		return nil, fmt.Errorf("metrics API client: %w", build.err)
	}
	c.resourceVersions = &versions{
		source: c.resource, group: metricsv1.GroupName, choose: resourceMetricsVersions,
		period: cfg.DiscoveryPeriod,
		// Without a known version, the response to this one has upstream's error.
		fallback: metricsv1beta1.SchemeGroupVersion,
	}
	c.customVersions = &versions{
		source: c.custom, group: custommetricsv1beta2.GroupName, choose: customMetricsVersions,
		period: cfg.DiscoveryPeriod,
	}
	return c, nil
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxResponseBytes <= 0 {
		c.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if c.Slots <= 0 {
		c.Slots = DefaultSlots
	}
	if c.DiscoveryPeriod <= 0 {
		c.DiscoveryPeriod = DefaultDiscoveryPeriod
	}
	return c
}

// External lists the series of an external metric.
func (c *Client) External(
	ctx context.Context, namespace, metric, selector string,
) (*externalmetricsv1beta1.ExternalMetricValueList, error) {
	request := c.external.client.Get().Namespace(namespace).Resource(metric)
	if selector != "" {
		request = request.Param("labelSelector", selector)
	}
	list := &externalmetricsv1beta1.ExternalMetricValueList{}
	if err := c.external.get(ctx, request, list); err != nil {
		return nil, err
	}
	return list, nil
}
