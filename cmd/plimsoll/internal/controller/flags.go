// Package controller is the command plimsoll controller: its flags, and what they mean.
package controller

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	horizontaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/controller"
)

// Flags are the flags of plimsoll controller. Those that kube-controller-manager and upstream's recommender have too
// have their names and defaults; those of upstream's updater have its names with a prefix, and without it.
type Flags struct {
	common      flags.Common
	config      controller.Config
	workers     int32
	divergences string
	forecast    string
	past        pastFlags
	recommender recommenderFlags
	updater     updaterFlags
}

// Add adds them, in the groups of help.
func (f *Flags) Add(fs *pflag.FlagSet) {
	f.config.Options = observehorizontal.DefaultOptions()
	flags.AddGroup(fs, "Components, addresses and API server", f.addProcess)
	flags.AddGroup(fs, "Leader election", f.addElection)
	flags.AddGroup(fs, "Horizontal autoscaling", f.addHorizontal)
	flags.AddGroup(fs, "Horizontal autoscaling: surges of CPU use", f.addSurge)
	flags.AddGroup(fs, "Horizontal autoscaling: load history and forecasts", f.addLearning)
	flags.AddGroup(fs, "CPU and memory, from kubelets and node agents",
		func(group *pflag.FlagSet) { flags.AddKubelets(group, &f.config.Kubelets) })
	flags.AddGroup(fs, "Other metrics",
		func(group *pflag.FlagSet) { flags.AddSources(group, &f.config.Sources) })
	flags.AddGroup(fs, "Vertical autoscaling: recommender and updater", f.recommender.AddShared)
	flags.AddGroup(fs, "Recommender", f.recommender.Add)
	flags.AddGroup(fs, "Updater", f.updater.Add)
	flags.AddGroup(fs, "Prometheus as a source of history", f.recommender.AddHistory)
	f.addUpstream(fs)
}

// addUpstream accepts what the manifests of upstream's recommender and updater may have besides.
func (f *Flags) addUpstream(fs *pflag.FlagSet) {
	ignored := pflag.NewFlagSet("", pflag.ContinueOnError)
	ignored.Bool("memory-saver", false, "")
	ignored.Int("min-checkpoints", 10, "")
	ignored.Bool("profiling", false, "")
	flags.AddIgnored(fs, ignored)
	names := f.updater.UpstreamNames()
	names["address"] = "metrics-bind-address"
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if here := names[name]; here != "" {
			name = here
		}
		return pflag.NormalizedName(name)
	})
}

func (f *Flags) addProcess(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.config.Components, "components", controller.Components(),
		"The components of this process: horizontal scales the targets of HPAs and WorkloadAutoscalers; recommender and "+
			"updater serve VerticalPodAutoscalers once their definitions are installed. Leave out the last two if another "+
			"vertical autoscaler runs: two must not act on the same objects.")
	flags.AddValues(fs, "components", flags.Values{All: controller.Components(), IsList: true})
	f.common.Add(fs, "Verbosity of the log: 0 logs each change of scale, 1 each decision.")
	f.common.AddLogFormat(fs)
	fs.Float32Var(&f.config.API.QPS, "kube-api-qps", 0,
		"QPS to use while talking with the API server; 0 for no client-side limit.")
	fs.IntVar(&f.config.API.Burst, "kube-api-burst", 0,
		"Burst to use while talking with the API server, with --kube-api-qps; by default twice the QPS.")
	fs.StringVar(&f.config.MetricsAddress, "metrics-bind-address", ":8080", "The address of /metrics; 0 for none.")
	fs.StringVar(&f.config.HealthAddress, "health-probe-bind-address", ":8081",
		"The address of /healthz and /readyz; 0 for none.")
	fs.StringVar(&f.config.PprofAddress, "pprof-bind-address", "",
		"The loopback address of /debug/pprof, for kubectl port-forward; none by default.")
	fs.StringVar(&f.config.InspectionAddress, "inspection-bind-address", "127.0.0.1:8082",
		"Loopback address of the inspection endpoint used by plimsoll explain, through pods/portforward; 0 for none.")
}

func (f *Flags) addElection(fs *pflag.FlagSet) {
	f.config.LeaderElection = process.LeaderElection{
		Enabled: true, ResourceNamespace: controller.DefaultLeaseNamespace,
	}
	flags.AddLeaderElection(fs, &f.config.LeaderElection)
	fs.Lookup("leader-elect-resource-name").Usage = "The name of the Lease. By default plimsoll-controller; if " +
		"horizontal is not among --components, plimsoll-recommender or plimsoll-updater."
}

func (f *Flags) addHorizontal(fs *pflag.FlagSet) {
	const prefix = "horizontal-pod-autoscaler-"
	fs.Int32Var(&f.workers, "concurrent-horizontal-pod-autoscaler-syncs", 5,
		"The number of horizontal pod autoscaler objects that are allowed to sync concurrently. Objects that wait for a "+
			"metrics API do not count.")
	fs.DurationVar(&f.config.SyncPeriod, prefix+"sync-period", 15*time.Second,
		"The period for syncing the number of pods in horizontal pod autoscaler: the longest time between two decisions. "+
			"New samples, and changes of pods or replica counts, trigger decisions earlier.")
	fs.DurationVar(&f.config.Options.DownscaleStabilization, prefix+"downscale-stabilization",
		f.config.Options.DownscaleStabilization,
		"The period for which autoscaler will look backwards and not scale down below any recommendation it "+
			"made during that period.")
	fs.Float64Var(&f.config.Options.Tolerance, prefix+"tolerance", f.config.Options.Tolerance,
		"The minimum change (from 1.0) in the desired-to-actual metrics ratio for the horizontal pod "+
			"autoscaler to consider scaling.")
	fs.DurationVar(&f.config.Options.CPUInitializationPeriod, prefix+"cpu-initialization-period",
		f.config.Options.CPUInitializationPeriod,
		"The period after pod start when CPU samples might be skipped.")
	fs.DurationVar(&f.config.Options.InitialReadinessDelay, prefix+"initial-readiness-delay",
		f.config.Options.InitialReadinessDelay,
		"The period after pod start during which readiness changes will be treated as initial readiness.")
	fs.DurationVar(&f.config.StatusInterval, "status-interval", time.Minute,
		"How often status is written when only its numbers change. Changes of replicas or conditions are written at once. "+
			"0 writes each change.")
	fs.DurationVar(&f.config.EventInterval, "event-interval", 14*time.Second,
		"How long an equal warning event about an object is suppressed. 0 repeats each.")
	fs.StringVar(&f.divergences, "divergences", "default",
		"Differences from kube-controller-manager that are in force: default, none, or comma-separated names "+
			"(docs/reference/divergences.md).")
	flags.AddDivergences(fs, "divergences", horizontaldivergence.All())
	fs.Var(&f.config.HPAs, "horizontal-pod-autoscalers",
		"How Plimsoll treats HorizontalPodAutoscalers. auto acts on those on which no other controller acts. act acts on "+
			"all, and pauses on those whose status another controller writes. shadow decides, compares with the other "+
			"controller in log and metrics, and writes nothing. ignore does not decide. Plimsoll acts on WorkloadAutoscalers "+
			"in each mode.")
	flags.AddValues(fs, "horizontal-pod-autoscalers", flags.Values{All: f.config.HPAs.Names()})
	fs.DurationVar(&f.config.TakeoverDelay, "horizontal-pod-autoscaler-takeover-delay", controller.DefaultTakeoverDelay,
		"With --horizontal-pod-autoscalers=auto or act: Plimsoll acts on an HPA once no other controller has written its "+
			"status for this long. With auto it should be several times the other controller's sync period.")
}

func (f *Flags) addLearning(fs *pflag.FlagSet) {
	const prefix = "horizontal-pod-autoscaler-"
	fs.StringVar(&f.forecast, prefix+"forecast", f.config.Options.Forecast.String(),
		"The mode of forecasts for a WorkloadAutoscaler without spec.forecast and an HPA without annotation "+
			observehorizontal.ForecastAnnotation+". Off learns nothing. Preview shows what a forecast would do. Active raises "+
			"the replica count before the load comes, if that was worth it on earlier days (docs/forecast.md).")
	flags.AddValues(fs, prefix+"forecast", flags.Values{All: []string{
		forecast.Off.String(), forecast.Preview.String(), forecast.Active.String(),
	}})
	fs.BoolVar(&f.config.Checkpoints, "autoscaler-checkpoints", true,
		"Save the learnt load of each HPA and WorkloadAutoscaler in an AutoscalerCheckpoint once an hour, so that it "+
			"survives restarts.")
	f.past.add(fs)
}

// Validate names every flag that has a value which cannot work.
func (f *Flags) Validate() error {
	var errs flags.Errors
	check := errs.Check
	const prefix = "horizontal-pod-autoscaler-"
	check(f.workers >= 1, "concurrent-horizontal-pod-autoscaler-syncs", f.workers, "must be greater than 0")
	check(f.config.SyncPeriod > 0, prefix+"sync-period", f.config.SyncPeriod, "must be greater than 0")
	check(f.config.Options.DownscaleStabilization >= 0, prefix+"downscale-stabilization",
		f.config.Options.DownscaleStabilization, "must not be negative")
	check(f.config.Options.Tolerance >= 0 && !math.IsNaN(f.config.Options.Tolerance) &&
		!math.IsInf(f.config.Options.Tolerance, 0),
		prefix+"tolerance", f.config.Options.Tolerance, "must be a number and not negative")
	check(f.config.Options.CPUInitializationPeriod >= 0, prefix+"cpu-initialization-period",
		f.config.Options.CPUInitializationPeriod, "must not be negative")
	check(f.config.Options.InitialReadinessDelay >= 0, prefix+"initial-readiness-delay",
		f.config.Options.InitialReadinessDelay, "must not be negative")
	f.validateSurge(check)
	flags.ValidateKubelets(&f.config.Kubelets, check)
	flags.ValidateSources(&f.config.Sources, check)
	f.recommender.Validate(check)
	f.past.validate(check, &f.recommender)
	f.updater.Validate(check)
	check(f.config.TakeoverDelay > 0, prefix+"takeover-delay", f.config.TakeoverDelay, "must be greater than 0")
	check(f.config.StatusInterval >= 0, "status-interval", f.config.StatusInterval, "must not be negative")
	check(f.config.EventInterval >= 0, "event-interval", f.config.EventInterval, "must not be negative")
	check(f.config.API.QPS >= 0, "kube-api-qps", f.config.API.QPS, "must not be negative")
	check(f.config.API.Burst >= 0, "kube-api-burst", f.config.API.Burst, "must not be negative")
	f.common.Validate(check)
	check(f.config.PprofAddress == "" || f.config.PprofAddress == "0" || process.IsLoopback(f.config.PprofAddress),
		"pprof-bind-address", f.config.PprofAddress,
		"must be a loopback address, because its clients can slow the program down")
	set, err := horizontaldivergence.Parse(f.divergences)
	check(err == nil, "divergences", f.divergences, fmt.Sprint(err))
	f.config.Options.Divergences = set
	f.config.Options.Forecast, err = observehorizontal.ParseForecastMode(f.forecast)
	check(err == nil, prefix+"forecast", f.forecast, "must be Off, Preview or Active")
	unknown := flags.Values{All: controller.Components(), IsList: true}.Unknown(strings.Join(f.config.Components, ","))
	check(len(f.config.Components) > 0 && unknown == "", "components", strings.Join(f.config.Components, ","),
		"must be some of "+strings.Join(controller.Components(), ", "))
	election := &f.config.LeaderElection
	if election.ResourceName == "" {
		election.ResourceName = controller.LeaseName(f.config.Components)
	}
	flags.ValidateLeaderElection(election, check)
	check(!election.Enabled || election.ResourceNamespace != "", "leader-elect-resource-namespace",
		election.ResourceNamespace, "must not be empty")
	errs.Add(f.config.Kubelets.Options.Validate())
	return errs.Join()
}

// Config returns the controller's configuration from the flags, which must be valid.
func (f *Flags) Config() *controller.Config {
	cfg := f.config
	cfg.API.Kubeconfig = f.common.Kubeconfig
	if cfg.API.Burst == 0 {
		cfg.API.Burst = int(math.Ceil(2 * float64(cfg.API.QPS)))
	}
	cfg.Workers = int(f.workers)
	cfg.Recommender, cfg.Updater = f.recommender.Config(), f.updater.Config(f.recommender.Features)
	cfg.VerticalDivergences, cfg.Conflict = f.recommender.Divergences(), f.recommender.Conflict
	f.past.set(&cfg)
	return &cfg
}
