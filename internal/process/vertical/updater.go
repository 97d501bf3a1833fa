package vertical

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/currentusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/events"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podchange"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/process/vertical/caches"
)

// updaterComponent is the source of the updater's events, as upstream.
const updaterComponent = "vpa-updater"

// updaterConfig configures an updaterLoop.
type updaterConfig struct {
	Caches *caches.Caches
	// Controller has the values of flags; New adds the rest.
	Controller updater.Config
	// Divergences has the divergences about conflicts.
	Divergences divergence.Set
	// Ignored are namespaces whose objects are left alone.
	Ignored []string
	// Kubelets has samples of the pods' usage; it may be nil.
	Kubelets currentusage.Kubelets
}

// updaterLoop is the updater with its recorder of events.
type updaterLoop struct {
	*updater.Controller
	// stopEvents ends the recorder.
	stopEvents func()
}

// newUpdaterLoop makes it. The process starts the caches.
func newUpdaterLoop(c updaterConfig) (*updaterLoop, error) {
	l := &updaterLoop{}
	metrics, err := metricsapi.New(metricsapi.Config{
		Rest: c.Caches.REST, Mapper: restmapper.NewDiscoveryRESTMapper(nil), Timeout: scale.CallTimeout,
		DiscoveryPeriod: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	usage, err := currentusage.New(currentusage.Config{
		Kubelets: c.Kubelets, Metrics: metrics, Log: c.Caches.Log, Pod: c.Caches.Pods.Observed,
	})
	if err != nil {
		return nil, err
	}
	cfg := c.Controller
	cfg.Defaults.Divergences = c.Divergences
	cfg.Client, cfg.Statuses = c.Caches.Client, c.Caches.VPAs
	cfg.Autoscalers, cfg.Owners = c.Caches.Autoscalers, c.Caches.Tree
	cfg.Informers, cfg.Pods = c.Caches.Informers, c.Caches.Pods
	cfg.Conflicts = c.Caches.Conflicts.OfVertical
	cfg.Used = usage.Read
	cfg.Resizes = podchange.NewSupport(c.Caches.Client.Discovery()).Supported
	cfg.Registerer = ctrlmetrics.Registry
	cfg.Log = c.Caches.Log.WithName("updater")
	cfg.Namespace, cfg.Ignored = c.Caches.Namespace, c.Ignored
	kinds, err := caches.EventKinds()
	if err != nil {
		return nil, err
	}
	bounded := rest.CopyConfig(c.Caches.REST)
	bounded.Timeout = scale.CallTimeout
	eventsClient, err := kubernetes.NewForConfig(bounded)
	if err != nil {
		return nil, fmt.Errorf("making an events client: %w", err)
	}
	cfg.Events, l.stopEvents = events.StartFor(context.Background(), eventsClient, updaterComponent, kinds)
	if l.Controller, err = updater.New(cfg); err != nil {
		l.stopEvents()
		return nil, err
	}
	return l, nil
}

// Start runs the updater until ctx ends.
func (l *updaterLoop) Start(ctx context.Context) error {
	defer l.stopEvents()
	return l.Run(ctx)
}
