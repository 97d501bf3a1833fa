// Package metricsapi asks the three metrics APIs of a cluster, metrics.k8s.io,
// custom.metrics.k8s.io and external.metrics.k8s.io, for the values that a
// HorizontalPodAutoscaler names. Every call has a deadline, every answer a
// largest size, and each API its own slots, for which namespaces and objects take
// turns: an adapter that is slow gets fewer requests and no call fails for that, a metric
// that hangs and an object with very many metrics cost others next to nothing.
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

// Config says how to reach the metrics APIs.
type Config struct {
	// Rest is the way to the API server.
	Rest *rest.Config
	// Mapper finds the resource of an Object metric's described object.
	Mapper meta.RESTMapper
	// Timeout bounds one call. It begins when the call has a slot.
	Timeout time.Duration
	// MaxResponseBytes bounds one answer.
	MaxResponseBytes int64
	// Slots is how many calls to one API may be under way. The others wait, and are not
	// bounded in time but by their context.
	Slots int
	// DiscoveryPeriod is how long the versions of the resource and the custom
	// metrics API are remembered.
	DiscoveryPeriod time.Duration
	// Period is how often each object asks; Log is told of an API that is too slow for
	// it, and Registerer gets the series of how long calls wait. All may be left out.
	Period     time.Duration
	Log        logr.Logger
	Registerer prometheus.Registerer
}

// Client asks the metrics APIs. It may be used by many goroutines.
type Client struct {
	resource, custom, external *source
	// resourceV1 and customV1Beta1 ask for the versions that their sources do not.
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
		// Its answer says what is wrong, as upstream's.
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
