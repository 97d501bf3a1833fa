package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/currentusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podresize"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// updaterComponent is the source of the updater's events, upstream's.
const updaterComponent = "vpa-updater"

func updaterCommand() *cobra.Command {
	flags := &updaterAlone{}
	cmd := &cobra.Command{
		Use:   "updater",
		Short: "Run the updater of vertical autoscaling alone, with upstream's flags",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			log := newLogger(cmd.ErrOrStderr(), &controllerFlags{verbosity: flags.verbosity})
			return runUpdater(cmd.Context(), flags, log)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func runUpdater(ctx context.Context, flags *updaterAlone, log logr.Logger) error {
	holdHeap()
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	config, err := flags.restConfig("plimsoll-updater")
	if err != nil {
		return err
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return err
	}
	go scales.Rediscover(ctx)
	shared, err := newVerticalAlone(config, scales, flags, log)
	if err != nil {
		return err
	}
	loop, err := newUpdaterLoop(shared, &flags.updaterFlags, flags.settings())
	if err != nil {
		return err
	}
	loop.starts = true
	mgr, err := flags.process(config, loop.health, nil, log)
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the loop: %w", err)
	}
	return mgr.Start(ctx)
}

// newVerticalAlone makes caches for a process that has none.
func newVerticalAlone(config *rest.Config, scales *scale.Access, flags *updaterAlone, log logr.Logger) (*verticalShared, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	options := []informers.SharedInformerOption{informers.WithTransform(slim.Transform)}
	if flags.namespace != "" {
		options = append(options, informers.WithNamespace(flags.namespace))
	}
	return newVerticalShared(verticalConfig{
		rest: config, client: client, informers: informers.NewSharedInformerFactoryWithOptions(client, 0, options...),
		scales: scales.Scales, mapper: scales.Mapper, namespace: flags.namespace, skipsConflicts: flags.conflict.Skips(), log: log,
	})
}

// updaterLoop is the updater as a part of a process that only the leader runs.
type updaterLoop struct {
	shared *verticalShared
	loop   *updater.Controller
	// stopEvents ends the recorder.
	stopEvents func()
	// starts says that this part owns the caches.
	starts bool
}

var (
	_ manager.Runnable               = (*updaterLoop)(nil)
	_ manager.LeaderElectionRunnable = (*updaterLoop)(nil)
)

// updaterSettings are what the updater is told beside its own flags.
type updaterSettings struct {
	divergences divergence.Set
	namespace   string
	ignored     []string
	// direct may be nil.
	direct currentusage.Kubelets
}

func newUpdaterLoop(shared *verticalShared, flags *updaterFlags, settings updaterSettings) (*updaterLoop, error) {
	l := &updaterLoop{shared: shared, stopEvents: func() {}}
	metrics, err := metricsapi.New(metricsapi.Config{
		Rest: shared.config, Mapper: restmapper.NewDiscoveryRESTMapper(nil), Timeout: scale.CallTimeout, DiscoveryPeriod: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	pods := shared.informers.Core().V1().Pods().Informer().GetStore()
	usage, err := currentusage.New(currentusage.Config{
		Kubelets: settings.direct, Metrics: metrics, Log: shared.log,
		Pod: func(namespace, name string) *observe.Pod {
			// A store's own keys can be asked for without errors.
			object, _, _ := pods.GetByKey(namespace + "/" + name)
			return slim.Observed(object)
		},
	})
	if err != nil {
		return nil, err
	}
	cfg := flags.config()
	cfg.Flags.Divergences = settings.divergences
	cfg.Client, cfg.Statuses = shared.client, shared.vpas
	cfg.Autoscalers, cfg.Informers, cfg.Owners = shared.autoscalers, shared.informers, shared.tree
	cfg.Conflicts = shared.conflicts.OfVertical
	cfg.Used = usage.Read
	cfg.Resizes = podresize.NewSupport(shared.client.Discovery()).Supported
	cfg.Registerer = ctrlmetrics.Registry
	cfg.Log = shared.log.WithName("updater")
	cfg.Namespace, cfg.Ignored = settings.namespace, settings.ignored
	kinds, err := verticalKinds()
	if err != nil {
		return nil, err
	}
	bounded := rest.CopyConfig(shared.config)
	bounded.Timeout = scale.CallTimeout
	eventsClient, err := kubernetes.NewForConfig(bounded)
	if err != nil {
		return nil, fmt.Errorf("making an events client: %w", err)
	}
	cfg.Events, l.stopEvents = events.StartFor(context.Background(), eventsClient, updaterComponent, kinds)
	if l.loop, err = updater.New(cfg); err != nil {
		l.stopEvents()
		return nil, err
	}
	return l, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*updaterLoop) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (l *updaterLoop) Start(ctx context.Context) error {
	defer l.stopEvents()
	if l.starts {
		if err := l.shared.vpas.AwaitServed(ctx, l.shared.log); err != nil {
			return nil // The process ends.
		}
		l.shared.start(ctx)
	}
	return l.loop.Run(ctx)
}

// health is upstream's: an error if no pass has ended for long.
func (l *updaterLoop) health(w http.ResponseWriter, _ *http.Request) {
	if err := l.loop.Alive(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Whoever has gone meanwhile needs no answer.
	_, _ = w.Write([]byte("OK"))
}
