package main

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// aloneFlags are those that upstream's recommender and updater share as processes
// of their own.
type aloneFlags struct {
	address, kubeconfig string
	qps, burst          float64
	profiling           bool
	verbosity           int
	leaderElect         bool
	leaseDuration       time.Duration
	renewDeadline       time.Duration
	retryPeriod         time.Duration
	resourceLock        string
	resourceName        string
	resourceNamespace   string
}

// add takes what differs: the address, and the Lease.
func (f *aloneFlags) add(fs *pflag.FlagSet, address, lease string) {
	fs.StringVar(&f.address, "address", address, "The address of /metrics and /health-check.")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to a kubeconfig file. Without it, the service account of the pod.")
	fs.Float64Var(&f.qps, "kube-api-qps", 50, "How many requests a second the API server is asked at most.")
	fs.Float64Var(&f.burst, "kube-api-burst", 100, "How many requests may come at once.")
	fs.BoolVar(&f.profiling, "profiling", false, "Serve /debug/pprof at --address, to connections from the pod itself alone, such as those of kubectl port-forward.")
	fs.IntVarP(&f.verbosity, "v", "v", 0, "The log's verbosity: 1 has each decision.")
	fs.BoolVar(&f.leaderElect, "leader-elect", false, "Work only while holding the Lease.")
	fs.DurationVar(&f.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait for the Lease after it was last renewed.")
	fs.DurationVar(&f.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew the Lease before it gives up.")
	fs.DurationVar(&f.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long to wait between attempts.")
	fs.StringVar(&f.resourceLock, "leader-elect-resource-lock", "leases", "The type of the lock; leases is the one there is.")
	fs.StringVar(&f.resourceName, "leader-elect-resource-name", lease, "The name of the Lease.")
	fs.StringVar(&f.resourceNamespace, "leader-elect-resource-namespace", "kube-system", "The namespace of the Lease.")
}

func (f *aloneFlags) validate(check func(fine bool, flag string, value any, want string)) {
	check(f.qps > 0, "kube-api-qps", f.qps, "must be greater than 0")
	check(f.burst >= 1, "kube-api-burst", f.burst, "must be at least 1")
	check(f.verbosity >= 0, "v", f.verbosity, "must not be negative")
	if !f.leaderElect {
		return
	}
	check(f.retryPeriod > 0, "leader-elect-retry-period", f.retryPeriod, "must be greater than 0")
	check(f.renewDeadline > f.retryPeriod*6/5, "leader-elect-renew-deadline", f.renewDeadline, "must be greater than 1.2 times the retry period")
	check(f.leaseDuration > f.renewDeadline, "leader-elect-lease-duration", f.leaseDuration, "must be greater than the renew deadline")
	check(f.resourceLock == "leases", "leader-elect-resource-lock", f.resourceLock, "must be leases")
	check(f.resourceName != "", "leader-elect-resource-name", f.resourceName, "must not be empty")
}

// restConfig is the way to the API server.
func (f *aloneFlags) restConfig(userAgent string) (*rest.Config, error) {
	config, err := restConfig(&controllerFlags{kubeconfig: f.kubeconfig, qps: float32(f.qps), burst: int(f.burst)})
	if err == nil {
		config.UserAgent = userAgent
	}
	return config, err
}

// process is the life of the process: leadership, health, metrics, all at upstream's
// one address. Grace is how long its end may take, nil for the default.
func (f *aloneFlags) process(config *rest.Config, health http.HandlerFunc, grace *time.Duration, log logr.Logger) (manager.Manager, error) {
	handlers := map[string]http.Handler{"/health-check": health}
	if f.profiling {
		maps.Copy(handlers, profiles())
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Logger:                        log,
		Metrics:                       metricsserver.Options{BindAddress: f.address, ExtraHandlers: handlers},
		HealthProbeBindAddress:        "0",
		LeaderElection:                f.leaderElect,
		LeaderElectionID:              f.resourceName,
		LeaderElectionNamespace:       f.resourceNamespace,
		LeaderElectionResourceLock:    f.resourceLock,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &f.leaseDuration,
		RenewDeadline:                 &f.renewDeadline,
		RetryPeriod:                   &f.retryPeriod,
		GracefulShutdownTimeout:       grace,
	})
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	return mgr, registerBuildInfo(ctrlmetrics.Registry)
}
