package controller

import (
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// updaterFlags has the flags of upstream's updater, with its defaults, and its names with a prefix.
type updaterFlags struct {
	interval        time.Duration
	minReplicas     int
	tolerance       float64
	rate            float64
	burst           int
	maxPercent      float64
	maxWindow       time.Duration
	useStatus       bool
	lease           admission.Lease
	skipBudget      bool
	updateThreshold float64
	lifetime        time.Duration
	afterOOM        time.Duration
	boostSyncs      int
}

// prefix tells the updater's flags from others: --min-replicas says nothing about HPAs.
const prefix = "updater-"

// Add adds them.
func (f *updaterFlags) Add(fs *pflag.FlagSet) {
	fs.DurationVar(&f.interval, "updater-interval", time.Minute,
		"How often the updater runs, and its time limit.")
	fs.IntVar(&f.minReplicas, prefix+"min-replicas", 2,
		"The minimum number of pods of a workload for an eviction.")
	fs.Float64Var(&f.tolerance, prefix+"eviction-tolerance", 0.5,
		"The fraction of a workload's pods that may be evicted at a time, if that is more than one pod.")
	fs.Float64Var(&f.rate, prefix+"eviction-rate-limit", -1,
		"How many pods may be evicted or resized per second; 0 or -1 for no limit.")
	fs.IntVar(&f.burst, prefix+"eviction-rate-burst", 1, "How many pods may be evicted at once under --"+prefix+
		"eviction-rate-limit.")
	fs.Float64Var(&f.maxPercent, prefix+"max-eviction-percent", 10,
		"The percentage of all pods with a VerticalPodAutoscaler that may be evicted within --"+prefix+
			"max-eviction-window, but at least ten pods; 0 for no limit.")
	fs.DurationVar(&f.maxWindow, prefix+"max-eviction-window", 10*time.Minute, "The window of --"+prefix+
		"max-eviction-percent.")
	fs.BoolVar(&f.useStatus, prefix+"use-admission-controller-status", true,
		"Change pods only while the admission controller, which sets the requests of new pods, renews its Lease.")
	fs.StringVar(&f.lease.Name, prefix+"admission-controller-status-lease-name", "vpa-admission-controller",
		"The name of that Lease.")
	fs.StringVar(&f.lease.Namespace, prefix+"admission-controller-status-lease-namespace", "",
		"The namespace of that Lease; without it, the environment variable NAMESPACE, or kube-system.")
	fs.DurationVar(&f.lease.Timeout, prefix+"admission-controller-status-lease-timeout", time.Minute,
		"The maximum age of that Lease's last renewal.")
	fs.BoolVar(&f.skipBudget, prefix+"in-place-skip-disruption-budget", false,
		"Ignore the disruption budget for resizes in place that restart no container.")
	fs.Float64Var(&f.updateThreshold, prefix+"pod-update-threshold", 0.1,
		"The minimum relative difference from the target for a change of requests within the recommended bounds.")
	fs.DurationVar(&f.lifetime, prefix+"in-recommendation-bounds-eviction-lifetime-threshold", 12*time.Hour,
		"The minimum age of pods for a change of requests within the recommended bounds.")
	fs.DurationVar(&f.afterOOM, prefix+"evict-after-oom-threshold", 10*time.Minute,
		"A container that ran out of memory within this time after its start, and within this time before now, gets its "+
			"recommendation at once.")
	fs.IntVar(&f.boostSyncs, prefix+"concurrent-cpu-startup-boost-syncs", 1,
		"How many start-up boosts are ended concurrently.")
}

// UpstreamNames are the names of upstream's updater, each with that of the same flag here, as far as they differ.
func (f *updaterFlags) UpstreamNames() map[string]string {
	own, names := pflag.NewFlagSet("", pflag.ContinueOnError), map[string]string{}
	(&updaterFlags{}).Add(own)
	own.VisitAll(func(each *pflag.Flag) {
		if each.Name != "updater-interval" { // upstream has the prefix there, too
			names[strings.TrimPrefix(each.Name, prefix)] = each.Name
		}
	})
	return names
}

// Validate names every flag that has a value which cannot work.
func (f *updaterFlags) Validate(check flags.Check) {
	check(f.interval > 0, "updater-interval", f.interval, "must be greater than 0")
	check(f.tolerance >= 0 && !math.IsInf(f.tolerance, 0), prefix+"eviction-tolerance", f.tolerance,
		"must be a number and not negative")
	check(!math.IsNaN(f.rate) && !math.IsInf(f.rate, 0), prefix+"eviction-rate-limit", f.rate, "must be a number")
	check(f.maxPercent >= 0 && f.maxPercent <= 100, prefix+"max-eviction-percent", f.maxPercent,
		"must be from 0 to 100")
	check(f.maxWindow > 0, prefix+"max-eviction-window", f.maxWindow, "must be greater than 0")
	check(f.updateThreshold >= 0 && !math.IsInf(f.updateThreshold, 0), prefix+"pod-update-threshold", f.updateThreshold,
		"must be a number and not negative")
	check(f.lease.Name != "" || !f.useStatus, prefix+"admission-controller-status-lease-name", f.lease.Name,
		"must not be empty")
	check(f.lease.Timeout > 0, prefix+"admission-controller-status-lease-timeout", f.lease.Timeout,
		"must be greater than 0")
	check(f.boostSyncs > 0, prefix+"concurrent-cpu-startup-boost-syncs", f.boostSyncs, "must be greater than 0")
}

// Config returns the updater's configuration from the flags. Recommender and updater share the gates.
func (f *updaterFlags) Config(gates validation.Features) updater.Config {
	lease := f.lease
	lease.Ignored = !f.useStatus
	if lease.Namespace == "" {
		lease.Namespace = os.Getenv("NAMESPACE")
	}
	if lease.Namespace == "" {
		lease.Namespace = "kube-system"
	}
	return updater.Config{
		Defaults: update.Policy{
			MinReplicas: f.minReplicas, Tolerance: f.tolerance, MinChange: f.updateThreshold, Lifetime: f.lifetime,
			AfterOOM: f.afterOOM, SkipBudget: f.skipBudget,
		},
		Gates: observevertical.Gates{
			InPlace: gates.InPlace, CPUStartupBoost: gates.CPUStartupBoost, PerVPAConfig: gates.PerVPAConfig,
		},
		Lease: lease, Interval: f.interval,
		EvictionRate: f.rate, EvictionBurst: f.burst, MaxEvictionPercent: f.maxPercent, MaxEvictionWindow: f.maxWindow,
		UnboostWorkers: f.boostSyncs,
	}
}
