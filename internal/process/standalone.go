package process

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Standalone is what upstream's recommender and updater have in common as processes of
// their own.
type Standalone struct {
	API            API
	LeaderElection LeaderElection
	// Address serves /metrics and /health-check, and /debug/pprof with Profiling.
	Address   string
	Profiling bool
}

// NewManager makes the manager of the process: leadership, health and metrics, all at
// upstream's one address. Grace is how long its end may take, nil for the default.
func (s *Standalone) NewManager(
	config *rest.Config, health http.HandlerFunc, grace *time.Duration, log logr.Logger,
) (manager.Manager, error) {
	handlers := map[string]http.Handler{"/health-check": health}
	if s.Profiling {
		maps.Copy(handlers, Profiles())
	}
	options := ctrl.Options{
		Logger:                  log,
		Metrics:                 metricsserver.Options{BindAddress: s.Address, ExtraHandlers: handlers},
		HealthProbeBindAddress:  "0",
		GracefulShutdownTimeout: grace,
	}
	s.LeaderElection.Apply(&options)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	return mgr, RegisterBuildInfo(ctrlmetrics.Registry)
}
