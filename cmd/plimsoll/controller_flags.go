package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// controllerFlags are the flags of plimsoll controller. Those that
// kube-controller-manager has too have its names and defaults.
type controllerFlags struct {
	kubeconfig        string
	qps               float32
	burst             int
	metricsAddress    string
	healthAddress     string
	pprofAddress      string
	inspectAddress    string
	verbosity         int
	logFormat         string
	workers           int32
	syncPeriod        time.Duration
	divergences       string
	shadow            bool
	vertical          bool
	metricsTimeout    time.Duration
	metricsRequests   int32
	statusInterval    time.Duration
	eventInterval     time.Duration
	options           observehorizontal.Options
	kubelet           kubeletFlags
	recommender       recommenderFlags
	updater           updaterFlags
	leaderElect       bool
	leaseDuration     time.Duration
	renewDeadline     time.Duration
	retryPeriod       time.Duration
	resourceLock      string
	resourceName      string
	resourceNamespace string
}

func (f *controllerFlags) add(fs *pflag.FlagSet) {
	f.options = observehorizontal.DefaultOptions()
	f.addHorizontal(fs)
	f.addSurge(fs)
	f.kubelet.add(fs)
	f.recommender.add(fs)
	f.recommender.addOwn(fs, "vertical-")
	f.updater.add(fs, updaterPrefix)
	f.addLeaderElection(fs)
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to a kubeconfig file. Without it, the service account of the pod.")
	fs.Float32Var(&f.qps, "kube-api-qps", 0, "QPS to use while talking with the API server; 0 for no limit on this side.")
	fs.IntVar(&f.burst, "kube-api-burst", 0, "Burst to use while talking with the API server; needed with --kube-api-qps.")
	fs.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "The address of /metrics; 0 for none.")
	fs.StringVar(&f.healthAddress, "health-probe-bind-address", ":8081", "The address of /healthz and /readyz; 0 for none.")
	fs.StringVar(&f.pprofAddress, "pprof-bind-address", "", "The loopback address of /debug/pprof, for kubectl port-forward; none by default.")
	fs.StringVar(&f.inspectAddress, "inspection-bind-address", "127.0.0.1:8082",
		"Loopback address of the inspection endpoint used by plimsoll explain, through pods/portforward; 0 for none.")
	fs.IntVarP(&f.verbosity, "v", "v", 0, "The log's verbosity: 0 has one line for each change of scale, 1 one for each decision.")
	fs.StringVar(&f.logFormat, "logging-format", "text", "The log's format: text or json.")
}

func (f *controllerFlags) addHorizontal(fs *pflag.FlagSet) {
	const prefix = "horizontal-pod-autoscaler-"
	fs.Int32Var(&f.workers, "concurrent-horizontal-pod-autoscaler-syncs", 5,
		"The number of horizontal pod autoscaler objects that are allowed to sync concurrently. One that waits for a metrics API does not count.")
	fs.DurationVar(&f.syncPeriod, prefix+"sync-period", 15*time.Second,
		"The period for syncing the number of pods in horizontal pod autoscaler: the longest time without a decision. New samples of kubelets, "+
			"and pods and counts that change, lead to decisions between.")
	fs.DurationVar(&f.options.DownscaleStabilization, prefix+"downscale-stabilization", f.options.DownscaleStabilization,
		"The period for which autoscaler will look backwards and not scale down below any recommendation it made during that period.")
	fs.Float64Var(&f.options.Tolerance, prefix+"tolerance", f.options.Tolerance,
		"The minimum change (from 1.0) in the desired-to-actual metrics ratio for the horizontal pod autoscaler to consider scaling.")
	fs.DurationVar(&f.options.CPUInitializationPeriod, prefix+"cpu-initialization-period", f.options.CPUInitializationPeriod,
		"The period after pod start when CPU samples might be skipped.")
	fs.DurationVar(&f.options.InitialReadinessDelay, prefix+"initial-readiness-delay", f.options.InitialReadinessDelay,
		"The period after pod start during which readiness changes will be treated as initial readiness.")
	fs.DurationVar(&f.metricsTimeout, "metrics-api-timeout", 10*time.Second,
		"How long a metrics API may take to answer, once it is asked. Objects that do not ask it are not delayed meanwhile.")
	fs.Int32Var(&f.metricsRequests, "concurrent-metrics-api-requests", metricsapi.DefaultSlots,
		"The number of requests to one metrics API (resource, custom, external) that are allowed concurrently. The others take turns, by namespace and object.")
	fs.DurationVar(&f.statusInterval, "status-interval", time.Minute,
		"How often status is written for its numbers alone; a change of replicas or conditions is written at once. 0 writes each change.")
	fs.DurationVar(&f.eventInterval, "event-interval", 14*time.Second,
		"How long a warning that says the same about an object is not repeated. 0 repeats each.")
	fs.StringVar(&f.divergences, "divergences", "default",
		"Where to decide otherwise than kube-controller-manager: default, none, or names with commas between (docs/compatibility.md).")
	fs.BoolVar(&f.vertical, "vertical", true,
		"Recommend for VerticalPodAutoscalers and update their pods, once their definitions are installed. "+
			"False where another vertical autoscaler does: two must not work on the same objects.")
	fs.BoolVar(&f.shadow, "shadow", false,
		"Decide beside a running kube-controller-manager and write nothing; log and metrics say where the two differ.")
}

func (f *controllerFlags) addLeaderElection(fs *pflag.FlagSet) {
	fs.BoolVar(&f.leaderElect, "leader-elect", true,
		"Start a leader election client and gain leadership before executing the main loop. Shadow mode has none.")
	fs.DurationVar(&f.leaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"The duration that non-leader candidates will wait after observing a leadership renewal until attempting to acquire leadership.")
	fs.DurationVar(&f.renewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"The interval between attempts by the acting leader to renew its leadership before it stops leading.")
	fs.DurationVar(&f.retryPeriod, "leader-elect-retry-period", 2*time.Second,
		"The duration the clients should wait between attempting acquisition and renewal of a leadership.")
	fs.StringVar(&f.resourceLock, "leader-elect-resource-lock", "leases", "The type of resource object that is used for locking; leases is the one there is.")
	fs.StringVar(&f.resourceName, "leader-elect-resource-name", defaultLeaseName, "The name of the Lease.")
	fs.StringVar(&f.resourceNamespace, "leader-elect-resource-namespace", defaultLeaseNamespace, "The namespace of the Lease.")
}

// validate names every flag that has a value which cannot work.
func (f *controllerFlags) validate() error {
	var errs []error
	check := func(fine bool, flag string, value any, want string) {
		if !fine {
			errs = append(errs, fmt.Errorf("--%s=%v: %s", flag, value, want))
		}
	}
	const prefix = "horizontal-pod-autoscaler-"
	check(f.workers >= 1, "concurrent-horizontal-pod-autoscaler-syncs", f.workers, "must be greater than 0")
	check(f.syncPeriod > 0, prefix+"sync-period", f.syncPeriod, "must be greater than 0")
	check(f.options.DownscaleStabilization >= 0, prefix+"downscale-stabilization", f.options.DownscaleStabilization, "must not be negative")
	check(f.options.Tolerance >= 0 && !math.IsNaN(f.options.Tolerance) && !math.IsInf(f.options.Tolerance, 0),
		prefix+"tolerance", f.options.Tolerance, "must be a number and not negative")
	check(f.options.CPUInitializationPeriod >= 0, prefix+"cpu-initialization-period", f.options.CPUInitializationPeriod, "must not be negative")
	check(f.options.InitialReadinessDelay >= 0, prefix+"initial-readiness-delay", f.options.InitialReadinessDelay, "must not be negative")
	f.validateSurge(check)
	f.kubelet.validate(check)
	f.recommender.validate(check)
	f.updater.validate(check, updaterPrefix)
	check(f.metricsTimeout > 0, "metrics-api-timeout", f.metricsTimeout, "must be greater than 0")
	check(f.metricsRequests >= 1, "concurrent-metrics-api-requests", f.metricsRequests, "must be greater than 0")
	check(f.statusInterval >= 0, "status-interval", f.statusInterval, "must not be negative")
	check(f.eventInterval >= 0, "event-interval", f.eventInterval, "must not be negative")
	check(f.qps >= 0, "kube-api-qps", f.qps, "must not be negative")
	check(f.qps == 0 || f.burst >= 1, "kube-api-burst", f.burst, "must be greater than 0 with --kube-api-qps")
	check(f.logFormat == "text" || f.logFormat == "json", "logging-format", f.logFormat, "must be text or json")
	check(f.verbosity >= 0, "v", f.verbosity, "must not be negative")
	check(f.pprofAddress == "" || f.pprofAddress == "0" || isLoopback(f.pprofAddress), "pprof-bind-address", f.pprofAddress,
		"must be a loopback address: whoever reaches it can slow the program down")
	set, err := divergence.Parse(f.divergences)
	check(err == nil, "divergences", f.divergences, fmt.Sprint(err))
	f.options.Divergences = set
	if f.leaderElect {
		check(f.retryPeriod > 0, "leader-elect-retry-period", f.retryPeriod, "must be greater than 0")
		check(f.renewDeadline > f.retryPeriod*6/5, "leader-elect-renew-deadline", f.renewDeadline, "must be greater than 1.2 times the retry period")
		check(f.leaseDuration > f.renewDeadline, "leader-elect-lease-duration", f.leaseDuration, "must be greater than the renew deadline")
		check(f.resourceLock == "leases", "leader-elect-resource-lock", f.resourceLock, "must be leases")
		check(f.resourceName != "", "leader-elect-resource-name", f.resourceName, "must not be empty")
		check(f.resourceNamespace != "", "leader-elect-resource-namespace", f.resourceNamespace, "must not be empty")
	}
	errs = append(errs, f.kubelet.options.Validate())
	return errors.Join(errs...)
}
