// Package own reads the metrics that Plimsoll reads itself: from the pods' own endpoints, Prometheus and external
// scalers. A source collects exactly the metrics of the last Set of each object. Reading a value has no side effect.
package own

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Sources has the sources of the metrics. A nil source is switched off, and its metrics fail.
type Sources struct {
	// Start starts what the sources share until ctx ends; nil if they share nothing.
	Start      func(ctx context.Context)
	Pods       Pods
	Prometheus Prometheus
	Scalers    Scalers
	// ServiceSelector returns the selector of a Service; it is services.ErrAwaited if it will be known within seconds. It
	// is nil if Services are not read.
	ServiceSelector func(namespace, name string) (*podindex.Selector, error)
}

type subscriber interface {
	// Set replaces the metrics that the source collects for the object; nil stops it. The source ignores metrics of other
	// types.
	Set(key observe.Key, specs []sources.Spec)
}

// Pods scrapes pods, or a sample of them.
type Pods interface {
	subscriber
	// Run scrapes until ctx ends.
	Run(ctx context.Context, sampled func(podendpoint.Sampled))
	// Follow replaces the pods that are scraped for the object's metrics of this set.
	Follow(key observe.Key, set sources.PodSet, pods []*observe.Pod)
	// Latest returns the latest values of a metric, in the order of the pods; it may reuse the memory of an earlier
	// result. The error says why there are no values; it is podendpoint.ErrStarting if that ends within seconds.
	Latest(
		now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod, reused observehorizontal.PodUsage,
	) (observehorizontal.PodUsage, error)
	// Total returns the latest value that pods which are not the target's have together.
	Total(now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod) sources.Answer
	// Urgent prioritizes the scrapes of these pods.
	Urgent(pods []*observe.Pod)
}

// Prometheus queries Prometheus servers.
type Prometheus interface {
	subscriber
	// Run queries until ctx ends; it calls sampled for each object with a new response.
	Run(ctx context.Context, sampled func(key observe.Key))
	Latest(now time.Time, key observe.Key, spec *sources.Prometheus) sources.Answer
}

// Scalers calls external scalers.
type Scalers interface {
	subscriber
	// Run calls them until ctx ends. It calls sampled for each object with a new response, and pushed when a scaler
	// reports by itself that there is work for one.
	Run(ctx context.Context, sampled, pushed func(key observe.Key))
	Latest(now time.Time, key observe.Key, spec *sources.ExternalScaler) sources.Answer
}

// Watch has the callbacks for new values.
type Watch struct {
	PodSampled func(podendpoint.Sampled)
	// Sampled is called for a new response of a server, Pushed for a scaler's report.
	Sampled, Pushed func(key observe.Key)
}

// Run collects until ctx ends.
func (s *Sources) Run(ctx context.Context, w Watch) {
	if s.Start != nil {
		s.Start(ctx)
	}
	var collecting sync.WaitGroup
	if s.Pods != nil {
		collecting.Go(func() { s.Pods.Run(ctx, w.PodSampled) })
	}
	if s.Prometheus != nil {
		collecting.Go(func() { s.Prometheus.Run(ctx, w.Sampled) })
	}
	if s.Scalers != nil {
		collecting.Go(func() { s.Scalers.Run(ctx, w.Sampled, w.Pushed) })
	}
	collecting.Wait()
}

// Urgent prioritizes the scrapes of these pods.
func (s *Sources) Urgent(pods []*observe.Pod) {
	if s.Pods != nil {
		s.Pods.Urgent(pods)
	}
}

// Set replaces the metrics that the sources collect for the object; nil stops them.
func (s *Sources) Set(key observe.Key, specs Specs) {
	if s.Pods != nil {
		s.Pods.Set(key, specs)
	}
	if s.Prometheus != nil {
		s.Prometheus.Set(key, specs)
	}
	if s.Scalers != nil {
		s.Scalers.Set(key, specs)
	}
}

// Follow replaces the pods that are scraped for the object's metrics of this set.
func (s *Sources) Follow(key observe.Key, set sources.PodSet, pods []*observe.Pod) {
	if s.Pods != nil {
		s.Pods.Follow(key, set, pods)
	}
}

// SelectorOf returns the selector of pods that are not the target's.
func (s *Sources) SelectorOf(namespace string, set sources.PodSet) (*podindex.Selector, error) {
	switch {
	case set.Service == "":
		return podindex.SelectorOf(set.Selector()), nil
	case s.ServiceSelector == nil:
		return nil, errServices
	}
	return s.ServiceSelector(namespace, set.Service)
}

var errServices = errors.New("service: this controller does not read Services")
