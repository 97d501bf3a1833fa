// Package own reads the metrics that Plimsoll reads itself: of the pods' own endpoints, of
// Prometheus and of external scalers. A source collects what was set last of each object, and nothing
// else; to read a value changes nothing.
package own

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Sources are where the metrics come from. One that is nil is switched off, and its metrics fail.
type Sources struct {
	// Start begins what the sources need until ctx ends; nil if they need nothing.
	Start      func(ctx context.Context)
	Pods       Pods
	Prometheus Prometheus
	Scalers    Scalers
}

// subscriber is a source as the loop tells it what to collect.
type subscriber interface {
	// Set has these metrics of the object collected from now on, as far as they are the source's, and no
	// others; nil if it has none, or is gone.
	Set(key observe.Key, specs []sources.Spec)
}

// Pods scrapes pods, or a sample of them.
type Pods interface {
	subscriber
	// Run scrapes until ctx ends.
	Run(ctx context.Context, sampled func(podendpoint.Sampled))
	// Follow has these pods scraped for the object from now on.
	Follow(key observe.Key, pods []*observe.Pod)
	// Latest is what is known of a metric of these pods, by their indices; an earlier result may be reused. The error says
	// why there is nothing to decide on; it is podendpoint.ErrStarting where that ends within seconds.
	Latest(
		now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod, reused observehorizontal.PodUsage,
	) (observehorizontal.PodUsage, error)
	// Urgent has these pods scraped before others.
	Urgent(pods []*observe.Pod)
}

// Prometheus queries Prometheus servers.
type Prometheus interface {
	subscriber
	// Run queries until ctx ends; sampled is called for each object with a new answer.
	Run(ctx context.Context, sampled func(key observe.Key))
	Latest(now time.Time, key observe.Key, spec *sources.Prometheus) sources.Answer
}

// Scalers ask external scalers.
type Scalers interface {
	subscriber
	// Run asks until ctx ends. Sampled is called for each object with a new answer, pushed when a
	// scaler reports by itself that there is work for one.
	Run(ctx context.Context, sampled, pushed func(key observe.Key))
	Latest(now time.Time, key observe.Key, spec *sources.ExternalScaler) sources.Answer
}

// Watch is called when there is something new to decide on.
type Watch struct {
	PodSampled func(podendpoint.Sampled)
	// Sampled is for a new answer of a server, Pushed for a scaler's report.
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

// Urgent has these pods scraped before others.
func (s *Sources) Urgent(pods []*observe.Pod) {
	if s.Pods != nil {
		s.Pods.Urgent(pods)
	}
}

// Set has these metrics of the object collected from now on, and no others; nil if it has none, is gone, or is left
// to another controller.
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

// Follow has these pods scraped for the object from now on.
func (s *Sources) Follow(key observe.Key, pods []*observe.Pod) {
	if s.Pods != nil {
		s.Pods.Follow(key, pods)
	}
}
