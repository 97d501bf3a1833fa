// Package vertical wires the vertical side: recommender, updater, or both over the same caches.
package vertical

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/plimsoll-dev/plimsoll/internal/collect/currentusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
)

// Config configures a Loop.
type Config struct {
	REST   *rest.Config
	Client kubernetes.Interface
	// Informers are shared with other loops of the process, Pods may be.
	Informers informers.SharedInformerFactory
	Pods      *podcache.Whole
	Scales    *scale.Access
	Metrics   *metricsapi.Client
	// Recommends is true if the recommender runs here. Recommender has its flags, and the namespaces for both.
	Recommends  bool
	Recommender recommender.Config
	// Updater has the flags of the updater; nil if it does not run.
	Updater     *updater.Config
	Divergences divergence.Set
	Conflict    conflict.Mode
	// Workloads is the cache of WorkloadAutoscalers of the horizontal side; nil if that does not run here.
	Workloads *workloads.Cache
	// Samples is the recommender's subscription to kubelets; nil if it does not run, or does not read them.
	Samples  *podusage.Subscription
	Kubelets *kubelets.Config
	// FindsConflicts is true if the horizontal side runs in the same process and calls OfHorizontal.
	FindsConflicts bool
	Log            logr.Logger
}

// Loop is the vertical side, as a part of a process that only the leader runs. It starts once vertical autoscalers can
// be stored.
type Loop struct {
	cfg Config

	// recommender is set once it runs here.
	recommender atomic.Pointer[recommender.Recommender]
	// updater is set once it runs here.
	updater atomic.Pointer[updater.Controller]
	// finder finds conflicts for the horizontal side; it is set once the caches exist.
	finder atomic.Pointer[conflicts.Finder]
}

var (
	_ manager.Runnable               = (*Loop)(nil)
	_ manager.LeaderElectionRunnable = (*Loop)(nil)
)

// New makes a Loop. It starts nothing.
func New(cfg Config) *Loop { return &Loop{cfg: cfg} }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Loop) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *Loop) Start(ctx context.Context) error {
	vpas, err := vpa.New(l.cfg.REST)
	if err != nil {
		return err
	}
	if err := vpas.AwaitServed(ctx, l.cfg.Log); err != nil {
		return nil // the process ends
	}
	shared, err := caches.New(caches.Config{
		REST: l.cfg.REST, Client: l.cfg.Client, Informers: l.cfg.Informers, Pods: l.cfg.Pods, Scales: l.cfg.Scales,
		Namespace: l.cfg.Recommender.Namespace, Conflict: l.cfg.Conflict, Workloads: l.cfg.Workloads, Log: l.cfg.Log,
	})
	if err != nil {
		return err
	}
	r, samples, err := l.newRecommender(shared)
	if err != nil {
		return err
	}
	if r != nil {
		defer r.StopEvents()
	}
	u, err := l.newUpdater(shared, samples)
	if err != nil {
		return err
	}
	shared.Start(ctx)
	if l.cfg.FindsConflicts {
		l.finder.Store(shared.Conflicts)
	}
	shared.AwaitHorizontals(ctx)
	group, ctx := errgroup.WithContext(ctx)
	if r != nil {
		go r.Evictions.RunWithContext(ctx)
		l.recommender.Store(r.Recommender)
		group.Go(func() error { return r.Run(ctx) })
	}
	if u != nil {
		l.updater.Store(u.Controller)
		group.Go(func() error { return u.Start(ctx) })
	}
	return group.Wait()
}

// newRecommender makes the recommender over the caches, if it is to run, and its samples of the pods' usage.
func (l *Loop) newRecommender(shared *caches.Caches) (*recommenderProcess, currentusage.Kubelets, error) {
	if !l.cfg.Recommends {
		return nil, nil, nil
	}
	r, err := newRecommenderProcess(&recommenderConfig{
		Caches: shared, Recommender: l.cfg.Recommender, Metrics: l.cfg.Metrics, Samples: l.cfg.Samples,
		Kubelets: l.cfg.Kubelets,
	})
	if err != nil {
		return nil, nil, err
	}
	return r, r.Samples, nil
}

// newUpdater makes the updater over the same caches, if it is to run.
func (l *Loop) newUpdater(shared *caches.Caches, samples currentusage.Kubelets) (*updaterLoop, error) {
	if l.cfg.Updater == nil {
		return nil, nil
	}
	return newUpdaterLoop(updaterConfig{
		Caches: shared, Controller: *l.cfg.Updater, Divergences: l.cfg.Conflict.Divergences(l.cfg.Divergences),
		Ignored: l.cfg.Recommender.Ignored, Kubelets: samples,
	})
}

// OfHorizontal describes the conflict of a vertical autoscaler with this object, as far as it is known; empty without
// one.
func (l *Loop) OfHorizontal(a observehorizontal.Autoscaler) string {
	if finder := l.finder.Load(); finder != nil {
		return finder.OfHorizontal(a)
	}
	return ""
}

// Alive is the health check: an error if no pass of a running component has ended for long.
func (l *Loop) Alive() error {
	if r := l.recommender.Load(); r != nil {
		if err := r.Alive(time.Now()); err != nil {
			return err
		}
	}
	if u := l.updater.Load(); u != nil {
		return u.Alive()
	}
	return nil
}
