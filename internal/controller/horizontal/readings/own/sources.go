// Package own reads the metrics that Plimsoll reads itself: of the pods' own endpoints, of
// Prometheus and of external scalers. To read one is to subscribe to it: a source collects what
// decisions ask it for, and leaves off what none has asked it for in two sync periods.
package own

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// ErrPending says that a source has had no time to answer for the first time.
var ErrPending = errors.New("the first values are awaited")

// Sources are where the metrics come from. One that is nil is switched off, and its metrics fail.
type Sources struct {
	Pods       Pods
	Prometheus Prometheus
	Scalers    Scalers
}

// Pods scrapes pods, or a sample of them.
type Pods interface {
	// Run scrapes until ctx ends.
	Run(ctx context.Context, sampled func(PodSampled))
	// NewView is room for the answers to one metric.
	NewView() View
	// Look fills the view, by the indices of the query's pods. The error says why there is nothing
	// to decide on; it is ErrPending where that ends within seconds.
	Look(now time.Time, q *PodQuery, v View) error
	// Urgent has these pods scraped before others.
	Urgent(pods []*observe.Pod)
	// Forget drops what was asked for an object that is gone.
	Forget(key observe.Key)
}

// View has what is known of the pods of a query. Pods that are not scraped have samples that are Unsampled.
type View = observehorizontal.PodUsage

// PodQuery asks for a metric of pods' endpoints.
type PodQuery struct {
	Key observe.Key
	// Metric is its index among the object's metrics.
	Metric int
	Spec   *sources.PodEndpoint
	Pods   []*observe.Pod
}

// PodSampled is a scrape of a pod that brought new samples.
type PodSampled struct {
	// Key is the object that the pod is scraped for.
	Key observe.Key
	// At is now, Before when this was so of the pod the last time; zero if never.
	At, Before time.Time
	// Reporting is how many scrapes of the object's pods bring samples in one round.
	Reporting int
}

// Prometheus queries Prometheus servers.
type Prometheus interface {
	// Run queries until ctx ends; sampled is called for each object with a new answer.
	Run(ctx context.Context, sampled func(key observe.Key))
	Look(now time.Time, key observe.Key, metric int, spec *sources.Prometheus) sources.Answer
	Forget(key observe.Key)
}

// Scalers ask external scalers.
type Scalers interface {
	// Run asks until ctx ends. Sampled is called for each object with a new answer, pushed when a
	// scaler reports by itself that there is work for one.
	Run(ctx context.Context, sampled, pushed func(key observe.Key))
	Look(now time.Time, key observe.Key, metric int, spec *sources.ExternalScaler) sources.Answer
	Forget(key observe.Key)
}

// Watch is called when there is something new to decide on.
type Watch struct {
	PodSampled func(PodSampled)
	// Sampled is for a new answer of a server, Pushed for a scaler's report.
	Sampled, Pushed func(key observe.Key)
}

// Run collects until ctx ends.
func (s *Sources) Run(ctx context.Context, w Watch) {
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

// Forget drops what was asked for an object that is gone, or left to another controller.
func (s *Sources) Forget(key observe.Key) {
	if s.Pods != nil {
		s.Pods.Forget(key)
	}
	if s.Prometheus != nil {
		s.Prometheus.Forget(key)
	}
	if s.Scalers != nil {
		s.Scalers.Forget(key)
	}
}
