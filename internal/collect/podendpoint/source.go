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
	// DefaultTimeout is longer than pods take that are well: those that are overloaded answer late, and their values
	// are needed most.
	DefaultTimeout = 5 * time.Second
)

const (
	// maxBackoff is how long a pod that fails is left alone at most. One that becomes ready is
	// scraped at once.
	maxBackoff = 10 * time.Second
	// slowAfter is how long a scrape counts in MaxConcurrent. Most take a few milliseconds, and the
	// shorter it is the sooner many pods that fall silent at once are known.
	slowAfter = 50 * time.Millisecond
	// maxLargeBytes bounds the pages that are being read, without those below 64 KiB.
	maxLargeBytes = 128 << 20
	// maxSeries bounds the series that are remembered of all pods together, 16 bytes each. Pages with
	// fewer than smallSeries are not refused for it, nor those of objects with no more than an equal part.
	maxSeries   = 4 << 20
	smallSeries = 100
)

// ErrStarting is the reason for which Latest has no values as long as pods have been scraped too few
// times.
var ErrStarting = errors.New("fewer than two scrapes of the pods so far")

// Config is what a Source needs. What is zero of the interval, the budget and the timeout becomes
// the default.
type Config struct {
	// DialPod connects to a pod at an address that it has checked.
	DialPod func(ctx context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error)
	// Secret has the credentials; nil if Secrets are not read.
	Secret clientauth.Lookup
	// Interval is how often each pod is scraped (--pod-endpoint-interval).
	Interval time.Duration
	// MaxPerSecond, MaxCPU and MaxConcurrent are the budget: how many scrapes begin in a second, how
	// much CPU they may cost, in cores, and how many are under way.
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

// Sampled is a scrape of one pod that brought new samples.
type Sampled struct {
	// Key is the object whose metrics they are.
	Key observe.Key
	// At is now, Before when this pod brought samples for the object the last time; zero if never.
	At, Before time.Time
	// Reporting is how many scrapes of the object's pods bring samples in one round.
	Reporting int
}

// Source scrapes pods, and answers from what it read. It may be used by many goroutines.
type Source struct {
	config  Config
	metrics *metrics
	wanted  *subscriptions.Table[sources.PodEndpoint, *wanted]
	rounds  *scrape.Rounds[*target]
	client  *fetch.Client
	// calls are what scrapes under way have, scratches what they have in addition once the pod responds.
	calls, scratches sync.Pool
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

// Set has these metrics of the object's pods read from now on, and no others. Follow says which pods.
func (s *Source) Set(key observe.Key, specs []sources.Spec) { s.wanted.Set(key, specs) }

// Follow has these pods scraped for the object from now on, as far as they have pages and the budget allows.
func (s *Source) Follow(key observe.Key, pods []*observe.Pod) {
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
		p.follow(now, pods)
	}
}

// Latest is what is known of a metric of these pods, by their indices. It uses the memory of an earlier result; nil if
// there is none. An error is why there are no values; ErrStarting means that there will be soon.
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
