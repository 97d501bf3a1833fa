package podusage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// maxAge is how long a kubelet that answers may have nothing new of any of its
	// containers.
	maxAge = 20 * time.Second
	// accessPeriod is how often the rights are looked at again.
	accessPeriod = time.Minute
	// accessRetry is how soon, if they could not be.
	accessRetry = 5 * time.Second
)

// ErrNotGranted says that nothing is scraped because the rights are not there.
var ErrNotGranted = errors.New("kubelets may not be asked")

// Config is what a source needs.
type Config struct {
	// Scraper makes what asks kubelets and puts their answers into the store.
	Scraper func(store *rate.Store) (Scraper, error)
	// Target finds a node's kubelet.
	Target func(node *corev1.Node) (kubelet.Target, error)
	// Nodes makes an informer of the nodes, anew each time. Names, addresses and
	// daemon endpoints are all that is looked at.
	Nodes func() cache.SharedIndexInformer
	// Access says which right is missing, if one is. Nil means that there is no
	// doubt.
	Access func(ctx context.Context) (missing string, err error)
	// Agents are asked before kubelets; nil for none.
	Agents *Agents
	// Rounds has the period and the budget.
	Rounds     scrape.Config[kubelet.Target]
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Scraper asks one kubelet.
type Scraper interface {
	Scrape(ctx context.Context, target kubelet.Target) (rate.Round, error)
}

var _ Scraper = (*kubelet.Scraper)(nil)

// Watch is who wants to know what.
type Watch struct {
	// Nodes appends the nodes to scrape; Moved has an element when they are others.
	Nodes func(dst []string) []string
	Moved <-chan struct{}
	// Sampled is told of each scrape that brought something new.
	Sampled func(Sampled)
}

// Sampled is a scrape that brought new samples.
type Sampled struct {
	Node string
	// At is now, Before when this was so the last time; zero if never.
	At, Before time.Time
	// Use is what the node's pods use by these samples alone. It is only good until Sampled returns.
	Use []rate.PodUse
}

// Source scrapes kubelets and answers from what they said.
type Source struct {
	config  Config
	metrics *metrics
	// session is the present one; nil while nothing is scraped.
	session atomic.Pointer[session]
	// isBeginning is true until Run knows whether there is to be a session.
	isBeginning atomic.Bool
}

// New checks the configuration. It starts nothing.
func New(config Config) (*Source, error) {
	if config.Scraper == nil || config.Target == nil || config.Nodes == nil || config.Registerer == nil {
		return nil, errors.New("resource metrics of kubelets: scraping, targets, nodes and a registerer are needed")
	}
	series, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, fmt.Errorf("resource metrics of kubelets: %w", err)
	}
	s := &Source{config: config, metrics: series}
	s.isBeginning.Store(true)
	// What is wrong with the rounds is to be told now.
	if _, err := newSession(s, Watch{}); err != nil {
		return nil, fmt.Errorf("resource metrics of kubelets: %w", err)
	}
	return s, nil
}

// Targets are the kubelets that are scraped now; none while nothing is.
func (s *Source) Targets() []kubelet.Target {
	session := s.session.Load()
	if session == nil {
		return nil
	}
	targets, _ := session.targets()
	return targets
}

// Run scrapes until ctx ends, as long as that is granted.
func (s *Source) Run(ctx context.Context, watch Watch) {
	defer s.isBeginning.Store(false)
	if s.config.Access == nil {
		s.tell(true, "")
		s.scrape(ctx, watch)
		return
	}
	stop := func() {}
	defer func() { stop() }()
	isGranted, isTold := false, false
	for ctx.Err() == nil {
		missing, err := s.config.Access(ctx)
		wait := accessPeriod
		switch {
		case err != nil:
			s.config.Log.V(1).Info("the rights on kubelets are not known", "why", err.Error())
			wait = accessRetry
		case !isTold || isGranted != (missing == ""):
			isGranted, isTold = missing == "", true
			s.tell(isGranted, missing)
			stop()
			stop = func() {}
			if isGranted {
				stop = s.begin(ctx, watch)
			}
		}
		_ = timing.Pause(ctx, wait) // The loop's condition ends it.
	}
}

// begin scrapes until it is stopped.
func (s *Source) begin(ctx context.Context, watch Watch) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.scrape(ctx, watch)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *Source) scrape(ctx context.Context, watch Watch) {
	session, err := newSession(s, watch)
	if err != nil {
		s.isBeginning.Store(false)
		s.config.Log.Error(err, "kubelets are not asked")
		return
	}
	s.session.Store(session)
	s.isBeginning.Store(false)
	defer s.session.Store(nil)
	session.run(ctx)
}

// tell says where resource metrics come from.
func (s *Source) tell(isGranted bool, missing string) {
	if isGranted {
		s.config.Log.Info("resource metrics come from the kubelets", "agents", s.config.Agents != nil)
		s.metrics.from("kubelet")
		return
	}
	s.isBeginning.Store(false)
	s.config.Log.Info("resource metrics come from metrics.k8s.io: kubelets may not be asked", "missing", missing)
	s.metrics.from("api")
}

// Look finds what is known of the pods, for v to answer from until the next Look.
// An error says why that is not enough.
func (s *Source) Look(now time.Time, pods []*observe.Pod, v *View) error {
	// In this order: what ceases to be the beginning has its session by then.
	isBeginning, session := s.isBeginning.Load(), s.session.Load()
	switch {
	case session != nil:
		return session.look(now, pods, v)
	case isBeginning:
		return fmt.Errorf("whether kubelets may be asked is not known: %w", ErrStarting)
	}
	return ErrNotGranted
}

// Prefer puts these nodes before others: with atOnce for one scrape as soon as may
// be, otherwise for some seconds where the budget is too short to scrape all nodes
// each period.
func (s *Source) Prefer(atOnce bool, nodes ...string) {
	session := s.session.Load()
	switch {
	case session == nil:
	case atOnce:
		session.rounds.Urgent(session.agents.without(nodes, time.Now())...)
	default:
		session.prefer(time.Now(), nodes)
	}
}
