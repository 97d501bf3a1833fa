// Package controller wires plimsoll controller: the horizontal loop, the vertical side and the inspection endpoint as
// one process, or some of them.
package controller

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/backfill"
	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
	"github.com/plimsoll-dev/plimsoll/internal/process/sources"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical"
)

// The Lease, unless flags name another.
const (
	DefaultLeaseNamespace = "plimsoll-system"
	DefaultLeaseName      = "plimsoll-controller"
)

// Config configures the process.
type Config struct {
	API            process.API
	LeaderElection process.LeaderElection
	MetricsAddress string
	HealthAddress  string
	// PprofAddress is empty for none.
	PprofAddress string
	// InspectionAddress is 0 for none.
	InspectionAddress string
	// HPAs is the mode for HorizontalPodAutoscalers.
	HPAs HPAMode
	// TakeoverDelay is how long no other controller must have written the status of an HPA before this one acts on it.
	TakeoverDelay time.Duration
	// Checkpoints keeps the history and forecast of autoscalers over restarts.
	Checkpoints bool
	// Past is the source of autoscalers' past loads, of which PastLength is read at the start; nil reads none.
	Past           backfill.Source
	PastLength     time.Duration
	Workers        int
	SyncPeriod     time.Duration
	StatusInterval time.Duration
	EventInterval  time.Duration
	Options        observehorizontal.Options
	Kubelets       kubelets.Config
	// Sources configures the metrics APIs, and the sources that Plimsoll reads itself.
	Sources sources.Config
	// Components has the components to run, at least one.
	Components          []string
	Recommender         recommender.Config
	Updater             updater.Config
	VerticalDivergences divergence.Set
	Conflict            conflict.Mode
}

// Run runs the process until ctx ends.
func Run(ctx context.Context, cfg *Config, log logr.Logger) error {
	process.Prepare(log)
	config, err := cfg.API.RESTConfig("plimsoll-controller")
	if err != nil {
		return err
	}
	if !cfg.runs(Horizontal) {
		return runVertical(ctx, config, cfg, log)
	}
	mgr, err := newManager(config, cfg, log, func(*ctrl.Options) {})
	if err != nil {
		return err
	}
	// A process that lost its Lease ends too, without having been asked to stop.
	loop, err := newLoop(config, cfg, func() bool { return ctx.Err() != nil }, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	if cfg.runsVertical() {
		if err := mgr.Add(loop.vertical); err != nil {
			return fmt.Errorf("adding the vertical loop: %w", err)
		}
	}
	if err := cfg.addInspection(mgr, inspect.Sources{
		Horizontal: loop.controller, Vertical: loop.vertical, History: loop.controller,
	}, log); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("horizontal", loop.alive); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", loop.ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

// newManager makes the manager of the process: leadership, health, metrics. set may change its options.
func newManager(config *rest.Config, cfg *Config, log logr.Logger, set func(*ctrl.Options)) (manager.Manager, error) {
	options := ctrl.Options{
		Logger:                 log,
		Metrics:                metricsserver.Options{BindAddress: cfg.MetricsAddress},
		HealthProbeBindAddress: cfg.HealthAddress,
		PprofBindAddress:       cfg.PprofAddress,
	}
	cfg.LeaderElection.Apply(&options)
	set(&options)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	return mgr, process.RegisterOwn(ctrlmetrics.Registry)
}

// loop is the horizontal controller, as the part of the process that only the leader runs.
type loop struct {
	controller *controllerhorizontal.Controller
	scales     *scale.Access
	stopEvents func()
	// vertical shares the caches, and finds conflicts between the two sides.
	vertical *vertical.Loop
}

var (
	_ manager.Runnable               = (*loop)(nil)
	_ manager.LeaderElectionRunnable = (*loop)(nil)
)

// setPast configures checkpoints and the backfill of past loads, as the flags demand.
func (c *Config) setPast(config *rest.Config, of *controllerhorizontal.Config) error {
	if c.Checkpoints {
		client, err := newCheckpoints(config)
		if err != nil {
			return err
		}
		of.Checkpoints = client
	}
	if c.Past == nil {
		return nil
	}
	filler, err := backfill.New(&backfill.Config{
		Source: c.Past, Length: c.PastLength, Registerer: of.Registerer, Log: of.Log,
	})
	if err != nil {
		return fmt.Errorf("reading past loads: %w", err)
	}
	of.Past = filler
	return nil
}

// newLoop wires the loop. Once it has ended, isStopping reports whether the process was asked to stop.
func newLoop(config *rest.Config, c *Config, isStopping func() bool, log logr.Logger) (*loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return nil, err
	}
	all, err := newCaches(config, client, c)
	if err != nil {
		return nil, err
	}
	cluster := &sources.Cluster{
		Client: client, Pods: all.pods, SyncPeriod: c.SyncPeriod, Registerer: ctrlmetrics.Registry,
		Log: log.WithName("metrics"),
	}
	source, err := c.Sources.MetricsAPIs(config, scales.Mapper, cluster)
	if err != nil {
		return nil, err
	}
	objects, err := newWorkloadAutoscalers(config, log.WithName("horizontal"))
	if err != nil {
		return nil, err
	}
	samples, verticalSamples, err := c.nodeSamples(config, client, log)
	if err != nil {
		return nil, err
	}
	beside := c.verticalConfig(config, client, scales, log)
	beside.Samples = verticalSamples
	beside.Informers, beside.Pods, beside.Metrics, beside.Workloads = all.informers, all.whole, source, objects
	l := &loop{scales: scales, stopEvents: func() {}, vertical: vertical.New(beside)}
	cfg := controllerhorizontal.Config{
		Client: client, Informers: all.informers, Pods: all.pods, Targets: all.targets, WorkloadAutoscalers: objects,
		Metrics: source, Conflict: l.vertical.OfHorizontal,
		Registerer: ctrlmetrics.Registry, Log: log.WithName("horizontal"),
		FieldManager: fieldManager(c.LeaderElection.ResourceNamespace, c.LeaderElection.ResourceName),
		HPAs:         c.HPAs, TakeoverDelay: c.TakeoverDelay,
		SyncPeriod: c.SyncPeriod, Triggers: true, SampleInterval: c.Kubelets.SampleInterval(), Workers: c.Workers,
		Options: c.Options, StatusInterval: c.StatusInterval, EventInterval: c.EventInterval, MayWriteAtEnd: isStopping,
	}
	if err = c.setPast(config, &cfg); err != nil {
		return nil, err
	}
	if cfg.Own, err = c.Sources.Own(cluster); err != nil {
		return nil, err
	}
	cfg.Scales, cfg.ScaleWrites, cfg.ScaleKinds = scales.Scales, scales.Writes, scales.Kinds
	cfg.WriteLimiter, cfg.Mapper = scales.Limiter, scales.Mapper
	if cfg.Events, err = l.startEvents(); err != nil {
		return nil, err
	}
	if samples != nil {
		cfg.Direct = samples
	}
	l.controller, err = controllerhorizontal.New(cfg)
	return l, err
}

// startEvents writes events until stopEvents is called.
func (l *loop) startEvents() (record.EventRecorder, error) {
	client, err := kubernetes.NewForConfig(l.scales.Bounded)
	if err != nil {
		return nil, fmt.Errorf("making an events client: %w", err)
	}
	recorder, stop := events.Start(context.Background(), client)
	l.stopEvents = stop
	return recorder, nil
}

// fieldManager returns the installation's name in managedFields: those with different Leases have different names, by
// which they detect each other.
func fieldManager(namespace, name string) string {
	const most = 128 // the API server's
	manager := controllerhorizontal.FieldManager
	if namespace != DefaultLeaseNamespace || name != DefaultLeaseName {
		manager += "/" + namespace
	}
	if name != DefaultLeaseName {
		manager += "/" + name
	}
	if len(manager) > most {
		return fmt.Sprintf("%s-%x", manager[:most-17], sha256.Sum256([]byte(manager)))[:most]
	}
	return manager
}

// caches holds the caches of both sides.
type caches struct {
	informers informers.SharedInformerFactory
	// pods and targets are the horizontal side's, whole is the vertical side's.
	pods    *podcache.Cache
	targets *targets.Cache
	whole   *podcache.Whole
}

// newCaches makes the caches of both sides. They share those of pods and of workloads if both run. While the cluster
// does not serve the vertical side's objects, the horizontal side has caches of its own, which hold less of each
// object. The vertical side's start beside them when it does.
func newCaches(config *rest.Config, client kubernetes.Interface, of *Config) (*caches, error) {
	keep := podcache.RunningIf(of.Kubelets.ReadsAgents())
	c := &caches{
		informers: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim.Transform)),
	}
	if of.runsVertical() {
		vpas, err := vpa.New(config)
		if err != nil {
			return nil, err
		}
		// An API server that does not answer now may do so later.
		if served, err := vpas.Served(context.Background()); err == nil && served {
			c.whole, c.targets = podcache.NewShared(client, keep...), targets.Over(c.informers.Apps().V1())
			c.pods = c.whole.Cache
			return c, nil
		}
	}
	c.pods, c.targets = podcache.New(client, keep...), targets.New(client)
	c.whole = podcache.NewWhole(client, metav1.NamespaceAll, keep...)
	return c, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*loop) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *loop) Start(ctx context.Context) error {
	defer l.stopEvents()
	go l.scales.Rediscover(ctx)
	return l.controller.Run(ctx)
}

// ready is the readiness check: a standby instance is ready, the leader is when its caches are filled.
func (l *loop) ready(_ *http.Request) error { return l.controller.Ready() }

// alive is the health check: a leader that no longer decides must be restarted. Ping alone would only show that the
// process responds.
func (l *loop) alive(_ *http.Request) error { return l.controller.Alive() }
