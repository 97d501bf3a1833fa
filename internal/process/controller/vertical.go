package controller

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/controller/inspect"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/process/sources"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical"
)

// runVertical runs recommender and updater, or one of them, without the horizontal side: with caches of their own
// namespace, and only the permissions that they need.
func runVertical(ctx context.Context, config *rest.Config, cfg *Config, log logr.Logger) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	scales, err := scale.NewAccess(config)
	if err != nil {
		return err
	}
	of := cfg.verticalConfig(config, client, scales, log)
	if _, of.Samples, err = cfg.nodeSamples(config, client, log); err != nil {
		return err
	}
	of.Metrics, err = cfg.Sources.MetricsAPIs(config, scales.Mapper, &sources.Cluster{
		SyncPeriod: cfg.SyncPeriod, Registerer: ctrlmetrics.Registry, Log: log.WithName("metrics"),
	})
	if err != nil {
		return err
	}
	namespace := cfg.Recommender.Namespace
	of.Informers = informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(slim.Transform), informers.WithNamespace(namespace))
	of.Pods = podcache.NewWhole(client, namespace, podcache.RunningIf(cfg.Kubelets.ReadsAgents())...)
	loop := vertical.New(of)
	mgr, err := newManager(config, cfg, log, func(options *ctrl.Options) { cfg.setVertical(options, loop.Alive) })
	if err != nil {
		return err
	}
	if err := mgr.Add(loop); err != nil {
		return fmt.Errorf("adding the vertical loop: %w", err)
	}
	if err := cfg.addInspection(mgr, inspect.Sources{Vertical: loop}, log); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("vertical", func(*http.Request) error { return loop.Alive() }); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	go scales.Rediscover(ctx)
	return mgr.Start(ctx)
}

// verticalConfig returns the configuration of the vertical side, without the caches and the metrics APIs.
func (c *Config) verticalConfig(
	config *rest.Config, client kubernetes.Interface, scales *scale.Access, log logr.Logger,
) vertical.Config {
	of := vertical.Config{
		REST: config, Client: client, Scales: scales, Recommends: c.runs(Recommender), Recommender: c.Recommender,
		Divergences: c.VerticalDivergences, Conflict: c.Conflict, Kubelets: &c.Kubelets,
		FindsConflicts: c.runs(Horizontal), Log: log.WithName("vertical"),
	}
	if c.runs(Updater) {
		of.Updater = &c.Updater
	}
	return of
}

// setVertical sets options as upstream's recommender and updater have them: /health-check beside /metrics, for the
// probes in their manifests, and the time to write checkpoints at the end.
func (c *Config) setVertical(options *ctrl.Options, alive func() error) {
	options.Metrics.ExtraHandlers = map[string]http.Handler{
		"/health-check": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := alive(); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			_, _ = w.Write([]byte("OK")) // the client may be gone
		}),
	}
	if c.runs(Recommender) {
		grace := c.Recommender.FlushTimeout + 5*time.Second
		options.GracefulShutdownTimeout = &grace
	}
}

func (c *Config) addInspection(mgr manager.Manager, of inspect.Sources, log logr.Logger) error {
	if c.InspectionAddress == "0" {
		return nil
	}
	inspection, err := newInspection(c.InspectionAddress, of, log.WithName("inspection"))
	if err != nil {
		return err
	}
	if err := mgr.Add(inspection); err != nil {
		return fmt.Errorf("adding the inspection: %w", err)
	}
	return nil
}
