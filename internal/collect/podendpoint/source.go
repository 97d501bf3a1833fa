package podendpoint

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// ErrStarting is the reason for which Look has no values as long as pods have been scraped too few
// times.
var ErrStarting = errors.New("pods have been scraped too few times")

// Config is what a Source needs. What is zero of the interval and the budget becomes the default.
type Config struct {
	// DialPod connects to a pod at an address that it has checked.
	DialPod func(ctx context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error)
	// Interval is how often each pod is scraped (--pod-endpoint-interval).
	Interval time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: how many scrapes begin in a second, how
	// much CPU they may cost, in cores, and how many are under way.
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	Registerer    prometheus.Registerer
	Log           logr.Logger
}

// Query is one metric of an object.
type Query struct {
	Key observe.Key
	// Metric is the metric's index among the object's.
	Metric int
	Spec   *sources.PodEndpoint
	// Pods are the target's.
	Pods []*observe.Pod
	// SyncPeriod is the longest time between two Looks; 0 for 15 s. After twice that without
	// one, the object's pods are not scraped any more.
	SyncPeriod time.Duration
}

// Watch is who is notified of new samples.
type Watch struct {
	// Sampled is called after each scrape with new samples. It must not block.
	Sampled func(Sampled)
}

// Sampled is a scrape of one pod that brought new samples.
type Sampled struct {
	// Key is the object whose metrics they are.
	Key observe.Key
	// Namespace and Pod are the pod's.
	Namespace, Pod string
	// At is now, Before when this pod brought samples for the object the last time; zero if never.
	At, Before time.Time
	// Reporting is how many scrapes of the object's pods bring samples in one round.
	Reporting int
}

// Source scrapes pods, and answers from what it read. It may be used by many goroutines.
type Source struct{}

// New checks the configuration. It starts nothing.
func New(Config) (*Source, error) { return &Source{}, nil }

// Run scrapes until ctx ends.
func (s *Source) Run(ctx context.Context, _ Watch) { <-ctx.Done() }

// Look finds what is known of the metric for v to answer from until the next Look, and makes the
// pods be scraped. An error is why there are no values; ErrStarting means that there will be soon.
func (s *Source) Look(time.Time, *Query, *View) error { return ErrStarting }

// Urgent scrapes these pods once more as soon as possible, ahead of others.
func (s *Source) Urgent([]*observe.Pod) {}

// Forget ends the scraping for an object.
func (s *Source) Forget(observe.Key) {}

// View is what Look found. The zero value is ready for use, and it may be used again.
type View struct {
	samples []metric.Sample
	recent  []metric.Recent
	isKnown bool
}

var _ observehorizontal.PodUsage = (*View)(nil)

// IsEmpty implements observehorizontal.PodUsage.
func (v *View) IsEmpty() bool { return !v.isKnown }

// Sample implements observehorizontal.PodUsage, for the metric of the query.
func (v *View) Sample(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Sample {
	return v.samples[pod]
}

// Recent implements observehorizontal.PodUsage, for the metric of the query.
func (v *View) Recent(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Recent {
	return v.recent[pod]
}
