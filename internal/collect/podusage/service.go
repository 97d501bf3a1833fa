package podusage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// maxAge is how long a kubelet that responds may go without a new sample of any of its containers.
	maxAge = 20 * time.Second
	// accessPeriod is the period of the check of permissions.
	accessPeriod = time.Minute
	// accessRetry is the pause after a check that failed.
	accessRetry = 5 * time.Second
)

// ErrNotGranted is returned while nothing is scraped for lack of permissions.
var ErrNotGranted = errors.New("no permission to read kubelets")

// Config configures a Service.
type Config struct {
	// Scraper makes the scraper of kubelets, which fills the store.
	Scraper func(store *rate.Store) (Scraper, error)
	// Target resolves a node's kubelet.
	Target func(node *corev1.Node) (kubelet.Target, error)
	// Nodes makes a new informer of nodes at each call. Only names, addresses and daemon endpoints are read.
	Nodes func() cache.SharedIndexInformer
	// Access returns the first missing permission; empty if all are granted. A nil function skips the check.
	Access func(ctx context.Context) (missing string, err error)
	// Agents are scraped before kubelets; nil for none.
	Agents *Agents
	// Rounds configures the budget, and the period of subscriptions without one.
	Rounds     scrape.Config[kubelet.Target]
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Scraper scrapes the selected containers of one node. Nil selects all; only kubelets get it.
type Scraper interface {
	Scrape(ctx context.Context, target kubelet.Target, selected *selection.Prepared) (rate.Round, error)
}

var _ Scraper = (*kubelet.Scraper)(nil)

// Service scrapes nodes for all loops of a process: each node once, for all subscriptions. Each loop has a
// Subscription.
type Service struct {
	config  Config
	metrics *metrics
	// nodesChanged has an element when the wanted nodes or the address of a kubelet may have changed.
	nodesChanged chan struct{}
	// session is the current session; nil while nothing is scraped.
	session atomic.Pointer[session]
	// isBeginning is true until the first check of permissions has decided whether there is a session.
	isBeginning atomic.Bool

	// mu guards the following.
	mu            sync.Mutex
	subscriptions []*Subscription
	// running counts the running subscriptions. The last one that ends calls stop.
	running int
	stop    func()
}

// New checks the configuration. It starts nothing.
func New(config Config) (*Service, error) {
	if config.Scraper == nil || config.Target == nil || config.Nodes == nil || config.Registerer == nil {
		return nil, errors.New("resource metrics of kubelets: scraping, targets, nodes and a registerer are needed")
	}
	if config.Rounds.Period == 0 {
		config.Rounds.Period = scrape.DefaultPeriod
	}
	series, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, fmt.Errorf("resource metrics of kubelets: %w", err)
	}
	s := &Service{config: config, metrics: series, nodesChanged: make(chan struct{}, 1)}
	s.isBeginning.Store(true)
	// Fail early on an invalid scrape configuration.
	if _, err := newSession(s, nil); err != nil {
		return nil, fmt.Errorf("resource metrics of kubelets: %w", err)
	}
	return s, nil
}

// join starts the service with the first subscription.
func (s *Service) join(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
	if s.running > 1 {
		return
	}
	subscriptions := slices.Clone(s.subscriptions)
	// The service outlives the subscription that started it.
	s.stop = begin(context.WithoutCancel(ctx), func(ctx context.Context) { s.run(ctx, subscriptions) })
}

// leave stops the service with the last subscription, and waits for it.
func (s *Service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 {
		s.stop()
	}
}

// run scrapes until ctx ends, while the permissions are granted.
func (s *Service) run(ctx context.Context, subscriptions []*Subscription) {
	defer s.isBeginning.Store(false)
	if s.config.Access == nil {
		s.logSource(true, "")
		s.scrape(ctx, subscriptions)
		return
	}
	stop := func() {}
	defer func() { stop() }()
	isGranted, isLogged := false, false
	for ctx.Err() == nil {
		missing, err := s.config.Access(ctx)
		wait := accessPeriod
		switch {
		case err != nil:
			s.config.Log.V(1).Info("cannot check the permissions on kubelets", "err", err.Error())
			wait = accessRetry
		case !isLogged || isGranted != (missing == ""):
			isGranted, isLogged = missing == "", true
			s.logSource(isGranted, missing)
			stop()
			stop = func() {}
			if isGranted {
				stop = begin(ctx, func(ctx context.Context) { s.scrape(ctx, subscriptions) })
			}
		}
		_ = timing.Pause(ctx, wait) // The loop's condition ends it.
	}
}

// begin calls run in a goroutine; stop cancels its context and waits for it.
func begin(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *Service) scrape(ctx context.Context, subscriptions []*Subscription) {
	session, err := newSession(s, subscriptions)
	if err != nil {
		s.isBeginning.Store(false)
		s.config.Log.Error(err, "not scraping kubelets")
		return
	}
	s.session.Store(session)
	s.isBeginning.Store(false)
	defer s.session.Store(nil)
	session.run(ctx)
}

func (s *Service) logSource(isGranted bool, missing string) {
	if isGranted {
		s.config.Log.Info("resource metrics come from the kubelets", "agents", s.config.Agents != nil)
		s.metrics.from("kubelet")
		return
	}
	s.isBeginning.Store(false)
	s.config.Log.Info("using metrics.k8s.io: no permission to read kubelets", "missing", missing)
	s.metrics.from("api")
}

// notifyNodesChanged makes the session choose its nodes again.
func (s *Service) notifyNodesChanged() {
	select {
	case s.nodesChanged <- struct{}{}:
	default:
	}
}
