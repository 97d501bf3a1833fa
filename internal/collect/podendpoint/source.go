package podendpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/fetch"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/collect/subscriptions"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// The defaults of Config.
const (
	DefaultInterval      = time.Second
	DefaultMaxPerSecond  = 10_000
	DefaultMaxCPU        = 0.5
	DefaultMaxConcurrent = 256
	// DefaultTimeout is longer than the responses of healthy pods take: overloaded ones respond late, and their values are
	// needed most.
	DefaultTimeout = 5 * time.Second
)

const (
	// maxBackoff is the longest pause of a failing pod. One that becomes ready is scraped at once.
	maxBackoff = 10 * time.Second
	// slowAfter is how long a scrape counts in MaxConcurrent. Most take a few milliseconds, and the shorter it is the
	// sooner many pods that fall silent at once are detected.
	slowAfter = 50 * time.Millisecond
	// maxLargeBytes bounds the pages that are being read, without those below 64 KiB.
	maxLargeBytes = 128 << 20
	// maxSeries bounds the series in the histories of all pods together, 16 bytes each. Pages with fewer than smallSeries
	// are not refused for it, nor those of objects with no more than an equal part.
	maxSeries   = 4 << 20
	smallSeries = 100
)

// ErrStarting is returned by Latest while the pods have too few scrapes.
var ErrStarting = errors.New("fewer than two scrapes of the pods so far")

// Config configures a Source. A zero interval, budget or timeout means the default.
type Config struct {
	// DialPod checks a pod's address and connects to it.
	DialPod func(ctx context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error)
	// Secret reads credentials; nil if Secrets are not read.
	Secret clientauth.Lookup
	// Interval is the time between two scrapes of a pod (--pod-endpoint-interval).
	Interval time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: the scrapes that begin in a second, their CPU in cores, and
	// the scrapes under way.
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	// Timeout bounds one scrape of metrics whose spec has no timeout.
	Timeout    time.Duration
	Registerer prometheus.Registerer
	Log        logr.Logger
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	c.MaxPerSecond = cmp.Or(c.MaxPerSecond, DefaultMaxPerSecond)
	c.MaxCPU = cmp.Or(c.MaxCPU, DefaultMaxCPU)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, DefaultMaxConcurrent)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	return c
}

// Sampled describes a scrape of one pod with new samples.
type Sampled struct {
	// Key is the object of the metrics.
	Key observe.Key
	// At is the current time, Before the time of this pod's last new samples for the object; zero if there were none.
	At, Before time.Time
	// Reporting is the number of scrapes with samples in one round of the object's pods.
	Reporting int
}

// Source scrapes pods and serves the samples. It is safe for concurrent use.
type Source struct {
	config  Config
	metrics *metrics
	wanted  *subscriptions.Table[sources.PodEndpoint, *wanted]
	rounds  *scrape.Rounds[*target]
	client  *fetch.Client
	// calls pools the state of running scrapes, scratches their buffers from the response on.
	calls, scratches sync.Pool
	// views pools the views of Total.
	views sync.Pool
	// sampled is called after each scrape with new samples.
	sampled func(Sampled)
	budget  budget

	// mu guards the following. Lock order: object.mu before mu.
	mu      sync.Mutex
	objects map[observe.Key]*object
	// byPod has the first target of each pod.
	byPod map[uint64]*target
}

// New checks the configuration. It starts nothing.
func New(config Config) (*Source, error) {
	if config.DialPod == nil || config.Registerer == nil {
		return nil, errors.New("metrics of pods: a dialer and a registerer are needed")
	}
	config = config.withDefaults()
	if config.Timeout < 0 {
		return nil, fmt.Errorf("metrics of pods: a timeout of %s is negative", config.Timeout)
	}
	series, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, fmt.Errorf("metrics of pods: %w", err)
	}
	s := &Source{
		config: config, metrics: series, objects: map[observe.Key]*object{}, byPod: map[uint64]*target{},
		client: fetch.New(fetch.Config{Timeout: config.Timeout, MaxBytes: page.DefaultMaxBytes,
			MaxLargeBytes: maxLargeBytes, MaxOpen: maxOpen()}),
		scratches: sync.Pool{New: func() any { return newScratch() }},
		views:     sync.Pool{New: func() any { return &View{} }},
		sampled:   func(Sampled) {},
	}
	s.wanted = subscriptions.New(subscriptions.Config[sources.PodEndpoint, *wanted]{
		Of: func(spec *sources.Spec) *sources.PodEndpoint { return spec.PodEndpoint }, Begin: s.subscribe, End: s.unsubscribe,
	})
	s.calls.New = func() any { return s.newCall() }
	s.budget.begin(&config)
	s.rounds, err = scrape.New(scrape.Config[*target]{
		Scrape: s.scrape, Forget: s.gone, Period: config.Interval,
		Group:        func(t *target) string { return t.page.object.key.Namespace },
		Stretch:      func(t *target) float64 { return t.page.stretch() },
		MaxPerSecond: config.MaxPerSecond, MaxCPU: config.MaxCPU, MaxConcurrent: config.MaxConcurrent,
		SlowAfter: slowAfter, MaxBackoff: max(maxBackoff, config.Interval),
	})
	if err != nil {
		return nil, fmt.Errorf("metrics of pods: %w", err)
	}
	return s, nil
}

// Run scrapes until ctx ends. It may be called once. It calls sampled after each scrape with new samples, and that must
// not block.
func (s *Source) Run(ctx context.Context, sampled func(Sampled)) {
	s.sampled = sampled
	var running sync.WaitGroup
	running.Go(func() { s.rounds.Run(ctx) })
	s.plan(ctx)
	running.Wait()
	s.metrics.reset()
}

// Set makes the source read these metrics of the object, and no others of it. Follow sets the pods.
func (s *Source) Set(key observe.Key, specs []sources.Spec) { s.wanted.Set(key, specs) }

// Follow makes the source scrape these pods for the object's metrics of this set, as far as they have pages and the
// budget allows.
func (s *Source) Follow(key observe.Key, set sources.PodSet, pods []*observe.Pod) {
	s.mu.Lock()
	o := s.objects[key]
	s.mu.Unlock()
	if o == nil {
		return
	}
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pages {
		if p.place.Pods == set {
			p.follow(now, pods)
		}
	}
}

// Latest returns the latest samples of a metric of these pods, by their indices. It reuses an earlier view; nil makes a
// new one. An error means that there are no values; ErrStarting means that there will be soon.
func (s *Source) Latest(
	now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod, reused observehorizontal.PodUsage,
) (observehorizontal.PodUsage, error) {
	v, _ := reused.(*View)
	if v == nil {
		v = &View{}
	}
	v.begin(len(pods))
	m, ok := s.wanted.Get(key, spec)
	if !ok {
		return v, ErrStarting
	}
	m.page.object.mu.Lock()
	defer m.page.object.mu.Unlock()
	return v, m.page.latest(now, m, pods, v)
}

// Urgent scrapes these pods once more as soon as possible, ahead of others.
func (s *Source) Urgent(pods []*observe.Pod) {
	var keys []string
	s.mu.Lock()
	for _, pod := range pods {
		for t := s.byPod[pod.Identity()]; t != nil; t = t.next {
			keys = append(keys, t.key)
		}
	}
	s.mu.Unlock()
	if len(keys) > 0 {
		s.rounds.Urgent(keys...)
	}
}
