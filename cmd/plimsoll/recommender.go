package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/conflicts"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

const (
	// recommenderComponent is the source of the recommender's events.
	recommenderComponent = "vpa-recommender"
	// recommenderScrapeInterval is how often kubelets are asked for the recommender:
	// often enough for the windows that it averages over.
	recommenderScrapeInterval = 10 * time.Second
)

func recommenderCommand() *cobra.Command {
	flags := &recommenderAlone{}
	cmd := &cobra.Command{
		Use:   "recommender",
		Short: "Run the recommender of vertical autoscaling alone, with upstream's flags",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), &controllerFlags{verbosity: flags.verbosity, logFormat: flags.logFormat})
			return runRecommender(cmd.Context(), flags, log)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func runRecommender(ctx context.Context, flags *recommenderAlone, log logr.Logger) error {
	holdHeap()
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	config, err := flags.restConfig("plimsoll-recommender")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := flags.kubelet.issueTokens(client); err != nil {
		return err
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return err
	}
	loop := &verticalLoop{
		rest: config, client: client, scales: scales, recommender: &flags.recommenderFlags, kubelet: &flags.kubelet, log: log,
		informers: informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTransform(slim.Transform), informers.WithNamespace(flags.namespace)),
	}
	if loop.metrics, err = metricsapi.New(metricsapi.Config{Rest: config, Mapper: scales.Mapper}); err != nil {
		return err
	}
	go scales.Rediscover(ctx)
	// Checkpoints are written at the end.
	grace := flags.checkpointsTimeout + 5*time.Second
	mgr, err := flags.process(config, loop.health, &grace, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	return mgr.Start(ctx)
}

// verticalLoop is the vertical side as a part of a process that only the leader
// runs. It begins once vertical autoscalers can be stored.
type verticalLoop struct {
	rest   *rest.Config
	client kubernetes.Interface
	// informers are shared with whatever else runs in the process.
	informers   informers.SharedInformerFactory
	scales      *scale.Access
	metrics     *metricsapi.Client
	recommender *recommenderFlags
	// updater is nil where only the recommender runs.
	updater *updaterFlags
	kubelet *kubeletFlags
	// isWhole says that the process has the rights of config/: it may know of
	// horizontal autoscalers.
	isWhole bool
	log     logr.Logger

	running atomic.Pointer[recommender.Recommender]
	// updating is the updater, once it runs here.
	updating atomic.Pointer[updater.Controller]
	// finder tells the horizontal side of conflicts, once there is one.
	finder atomic.Pointer[conflicts.Finder]
}

var (
	_ manager.Runnable               = (*verticalLoop)(nil)
	_ manager.LeaderElectionRunnable = (*verticalLoop)(nil)
)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*verticalLoop) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *verticalLoop) Start(ctx context.Context) error {
	vpas, err := vpa.New(l.rest)
	if err != nil {
		return err
	}
	if err := vpas.AwaitServed(ctx, l.log); err != nil {
		return nil // the process ends
	}
	shared, err := newVerticalShared(verticalConfig{
		rest: l.rest, client: l.client, informers: l.informers, scales: l.scales.Scales, mapper: l.scales.Mapper,
		namespace: l.recommender.namespace, skipsConflicts: l.recommender.conflict.Skips(), log: l.log,
	})
	if err != nil {
		return err
	}
	r, err := l.newRecommender(shared)
	if err != nil {
		return err
	}
	defer r.stopEvents()
	u, err := l.newUpdater(shared, r.direct)
	if err != nil {
		return err
	}
	shared.start(ctx)
	go r.evictions.RunWithContext(ctx)
	l.running.Store(r.Recommender)
	if l.isWhole {
		l.finder.Store(shared.conflicts)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.Run(ctx) })
	if u != nil {
		l.updating.Store(u.loop)
		group.Go(func() error { return u.Start(ctx) })
	}
	return group.Wait()
}

// newUpdater makes the updater for the same caches, where it is to run.
func (l *verticalLoop) newUpdater(shared *verticalShared, direct recommender.Direct) (*updaterLoop, error) {
	if l.updater == nil {
		return nil, nil
	}
	return newUpdaterLoop(shared, l.updater, updaterSettings{
		divergences: l.recommender.conflict.Divergences(l.recommender.differs),
		namespace:   l.recommender.namespace, ignored: l.recommender.ignoredNamespaces(), direct: direct,
	})
}

// health is upstream's: an error if no pass has ended for long.
func (l *verticalLoop) health(w http.ResponseWriter, _ *http.Request) {
	if r := l.running.Load(); r != nil {
		if err := r.Alive(time.Now()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	_, _ = w.Write([]byte("OK")) // whoever has gone meanwhile needs no answer
}

// recommending is the recommender with what runs beside it.
type recommending struct {
	*recommender.Recommender
	evictions  cache.SharedIndexInformer
	direct     recommender.Direct // nil where kubelets are not asked
	stopEvents func()
}

func (l *verticalLoop) newRecommender(shared *verticalShared) (*recommending, error) {
	r := &recommending{
		evictions: coreinformers.NewFilteredEventInformer(l.client, l.recommender.namespace, 0, cache.Indexers{}, func(options *metav1.ListOptions) {
			options.FieldSelector = "reason=Evicted"
		}),
	}
	cfg := l.recommender.config()
	cfg.Objects, cfg.Targets, cfg.Store, cfg.Metrics = shared.autoscalers, shared.tree, shared.vpas, l.metrics
	cfg.Pods, cfg.Evictions = l.informers.Core().V1().Pods().Informer(), r.evictions
	cfg.Conflicts, cfg.Registerer, cfg.Log = shared.conflicts.OfVertical, ctrlmetrics.Registry, l.log.WithName("recommender")
	if l.kubelet.reads(false) {
		// A source of its own: the horizontal side's asks each second.
		slow := *l.kubelet
		slow.interval = max(slow.interval, min(recommenderScrapeInterval, l.recommender.interval))
		direct, err := newDirectFor(l.rest, l.client, &slow, prometheus.WrapRegistererWithPrefix("vertical_", ctrlmetrics.Registry), cfg.Log)
		if err != nil {
			return nil, err
		}
		cfg.Direct, r.direct = direct, direct
		if cfg.Contention, err = newContention(l.rest, &slow, direct, cfg.Log); err != nil {
			return nil, err
		}
	}
	kinds, err := verticalKinds()
	if err != nil {
		return nil, err
	}
	bounded, err := kubernetes.NewForConfig(l.scales.Bounded)
	if err != nil {
		return nil, fmt.Errorf("making an events client: %w", err)
	}
	cfg.Events, r.stopEvents = events.StartFor(context.Background(), bounded, recommenderComponent, kinds)
	if r.Recommender, err = recommender.New(cfg); err != nil {
		r.stopEvents()
		return nil, err
	}
	return r, nil
}
