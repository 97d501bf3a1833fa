package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

const userAgent = "plimsoll-controller"

// The Lease, unless flags name another.
const (
	defaultLeaseNamespace = "plimsoll-system"
	defaultLeaseName      = "plimsoll-controller"
)

func controllerCommand() *cobra.Command {
	flags := &controllerFlags{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the autoscaling loops, horizontal and vertical",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			return runController(cmd.Context(), flags, newLogger(cmd.ErrOrStderr(), flags))
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func newLogger(out io.Writer, flags *controllerFlags) logr.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(-flags.verbosity), ReplaceAttr: nameLevels}
	if flags.logFormat == "json" {
		return logr.FromSlogHandler(slog.NewJSONHandler(out, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(out, options))
}

// nameLevels prints every level of verbosity as DEBUG; slog would count them up
// from there.
func nameLevels(_ []string, attr slog.Attr) slog.Attr {
	if level, ok := attr.Value.Any().(slog.Level); ok && attr.Key == slog.LevelKey && level < slog.LevelInfo {
		return slog.String(slog.LevelKey, slog.LevelDebug.String())
	}
	return attr
}

func runController(ctx context.Context, flags *controllerFlags, log logr.Logger) error {
	holdHeap()
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	config, err := restConfig(flags)
	if err != nil {
		return err
	}
	mgr, err := newProcess(config, flags, log)
	if err != nil {
		return err
	}
	loop, err := newLoop(config, flags, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	if flags.vertical && !flags.shadow {
		if err := mgr.Add(loop.vertical); err != nil {
			return fmt.Errorf("adding the vertical loop: %w", err)
		}
	}
	if flags.inspectAddress != "0" {
		inspection, err := newInspection(flags.inspectAddress, inspect.Sources{Horizontal: loop.controller, Vertical: loop.vertical}, log.WithName("inspection"))
		if err != nil {
			return err
		}
		if err := mgr.Add(inspection); err != nil {
			return fmt.Errorf("adding the inspection: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("horizontal", loop.alive); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", loop.ready); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr.Start(ctx)
}

func restConfig(flags *controllerFlags) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if flags.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", flags.kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: %w", flags.kubeconfig, err)
	}
	config.UserAgent = userAgent
	// Below zero is client-go's word for no limit.
	config.QPS, config.Burst = -1, 0
	if flags.qps > 0 {
		config.QPS, config.Burst = flags.qps, flags.burst
	}
	return config, nil
}

// newProcess is the life of the process: leadership, health, metrics.
func newProcess(config *rest.Config, flags *controllerFlags, log logr.Logger) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Logger:                        log,
		Metrics:                       metricsserver.Options{BindAddress: flags.metricsAddress},
		HealthProbeBindAddress:        flags.healthAddress,
		PprofBindAddress:              flags.pprofAddress,
		LeaderElection:                flags.leaderElect && !flags.shadow,
		LeaderElectionID:              flags.resourceName,
		LeaderElectionNamespace:       flags.resourceNamespace,
		LeaderElectionResourceLock:    flags.resourceLock,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &flags.leaseDuration,
		RenewDeadline:                 &flags.renewDeadline,
		RetryPeriod:                   &flags.retryPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	return mgr, registerBuildInfo(ctrlmetrics.Registry)
}

func registerBuildInfo(registerer prometheus.Registerer) error {
	version, revision := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "plimsoll_build_info",
		Help:        "1, labelled by what this program was built from.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	gauge.Set(1)
	if err := registerer.Register(gauge); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// loop is the horizontal controller as a part of the process that only the
// leader runs.
type loop struct {
	controller *controllerhorizontal.Controller
	scales     *scale.Access
	stopEvents func()
	// vertical shares the caches, and knows where the two sides fight.
	vertical *verticalLoop
}

var (
	_ manager.Runnable               = (*loop)(nil)
	_ manager.LeaderElectionRunnable = (*loop)(nil)
)

func newLoop(config *rest.Config, flags *controllerFlags, log logr.Logger) (*loop, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if err := flags.kubelet.issueTokens(client); err != nil {
		return nil, err
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return nil, err
	}
	source, err := metricsapi.New(metricsapi.Config{
		Rest: config, Mapper: scales.Mapper, Timeout: flags.metricsTimeout, DiscoveryPeriod: flags.syncPeriod,
		Slots: int(flags.metricsRequests), Period: flags.syncPeriod, Log: log.WithName("metrics"), Registerer: ctrlmetrics.Registry,
	})
	if err != nil {
		return nil, err
	}
	horizontals, verticals, err := newCaches(config, client, flags)
	if err != nil {
		return nil, err
	}
	l := &loop{scales: scales, stopEvents: func() {}, vertical: &verticalLoop{
		rest: config, client: client, informers: verticals, scales: scales, metrics: source,
		recommender: &flags.recommender, updater: &flags.updater, kubelet: &flags.kubelet, isWhole: true, log: log.WithName("vertical"),
	}}
	cfg := controllerhorizontal.Config{
		Client:     client,
		Informers:  horizontals,
		Metrics:    source,
		Conflict:   l.conflict,
		Registerer: ctrlmetrics.Registry,
		Log:        log.WithName("horizontal"),
		SyncPeriod: flags.syncPeriod,
		Triggers:   !flags.shadow,
		Workers:    int(flags.workers),
		Options:    flags.options,
		Shadow:     flags.shadow,

		FieldManager: fieldManager(flags.resourceNamespace, flags.resourceName),

		StatusInterval: flags.statusInterval,
		EventInterval:  flags.eventInterval,
	}
	cfg.Scales, cfg.ScaleWrites, cfg.ScaleKinds, cfg.WriteLimiter, cfg.Mapper = scales.Scales, scales.Writes, scales.Kinds, scales.Limiter, scales.Mapper
	if !flags.shadow {
		eventsClient, err := kubernetes.NewForConfig(scales.Bounded)
		if err != nil {
			return nil, fmt.Errorf("making an events client: %w", err)
		}
		cfg.Events, l.stopEvents = events.Start(context.Background(), eventsClient)
	}
	if flags.kubelet.reads(flags.shadow) {
		if cfg.Direct, err = newDirect(config, client, &flags.kubelet, cfg.Log); err != nil {
			return nil, err
		}
	}
	l.controller, err = controllerhorizontal.New(cfg)
	return l, err
}

// fieldManager is the installation's name in managedFields: those with different Leases
// have different names, and so find each other.
func fieldManager(namespace, name string) string {
	const most = 128 // the API server's
	manager := controllerhorizontal.FieldManager
	if namespace != defaultLeaseNamespace || name != defaultLeaseName {
		manager += "/" + namespace
	}
	if name != defaultLeaseName {
		manager += "/" + name
	}
	if len(manager) > most {
		return fmt.Sprintf("%s-%x", manager[:most-17], sha256.Sum256([]byte(manager)))[:most]
	}
	return manager
}

// newCaches are the caches of both sides: the same, where both run. While the cluster
// does not know the vertical side's objects, only the horizontal side has caches, and
// they hold less of each object; the vertical side's begin beside them when it does.
func newCaches(config *rest.Config, client kubernetes.Interface, flags *controllerFlags) (horizontals, verticals informers.SharedInformerFactory, err error) {
	if flags.vertical && !flags.shadow {
		var vpas *vpa.Client
		if vpas, err = vpa.New(config); err != nil {
			return nil, nil, err
		}
		// Whoever does not answer now may do so later.
		if served, problem := vpas.Served(context.Background()); problem == nil && served {
			shared := slim.NewInformers(client, slim.Shared)
			return shared, shared, nil
		}
	}
	return slim.NewInformers(client, slim.Horizontal), slim.NewInformers(client, slim.Transform), nil
}

// conflict says how a vertical autoscaler is in the way, as far as that is known.
func (l *loop) conflict(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	if finder := l.vertical.finder.Load(); finder != nil {
		return finder.OfHorizontal(hpa)
	}
	return ""
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*loop) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *loop) Start(ctx context.Context) error {
	defer l.stopEvents()
	go l.scales.Rediscover(ctx)
	return l.controller.Run(ctx)
}

// ready is the readiness check: an instance that waits for its turn to lead is
// ready, one that leads is when its caches are filled.
func (l *loop) ready(_ *http.Request) error { return l.controller.Ready() }

// alive is the health check: an instance that leads and decides nothing any more is to be
// restarted. Ping alone would say that the process answers.
func (l *loop) alive(_ *http.Request) error { return l.controller.Alive() }
