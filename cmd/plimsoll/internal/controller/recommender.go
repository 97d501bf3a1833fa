package controller

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	verticaldivergence "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// recommenderFlags are the flags of upstream's recommender, by its names and
// defaults, and those of Plimsoll's own about both components.
type recommenderFlags struct {
	name                      string
	interval                  time.Duration
	checkpointsGC             time.Duration
	checkpointsTimeout        time.Duration
	history                   historyFlags
	workers                   int
	namespace, ignored        string
	margin                    float64
	minCPUMilli, minMemoryMiB float64
	target, lower, upper      [vertical.Resources]float64
	confidence                [vertical.Resources]time.Duration
	halfLife                  [vertical.Resources]time.Duration
	memoryInterval            time.Duration
	memoryCount               int64
	bumpUpRatio, minBumpUp    float64
	humanize, integerCPU      bool
	roundCPU, roundMemory     int
	maxCPU, maxMemory         resource.QuantityValue
	gates                     map[string]string
	divergences               string
	// Conflict is --vertical-conflict.
	Conflict        conflict.Mode
	countContention bool

	// Features and differs are what gates and divergences mean.
	Features validation.Features
	differs  verticaldivergence.Set
}

// Add adds those of the recommender alone.
func (f *recommenderFlags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.name, "recommender-name", "default",
		"The name of this recommender. It serves the objects that name it; \"default\" also serves those that name none.")
	fs.DurationVar(&f.interval, "recommender-interval", time.Minute, "How often recommendations are computed.")
	fs.DurationVar(&f.checkpointsGC, "checkpoints-gc-interval", 10*time.Minute,
		"How often orphaned checkpoints are deleted.")
	fs.DurationVar(&f.checkpointsTimeout, "checkpoints-timeout", time.Minute,
		"The timeout of writing checkpoints when the process ends.")
	fs.IntVar(&f.workers, "update-worker-count", 10, "How many statuses and checkpoints are written concurrently.")
	fs.BoolVar(&f.countContention, "count-cpu-contention", false,
		"Count CPU that a container did not get, because of its limit or a busy node, as demand. It is reported either way.")
	f.addFormula(fs)
	f.addHistory(fs)
}

// conflictModes are the values of --vertical-conflict.
var conflictModes = flags.Values{All: []string{conflict.Skip.String(), conflict.Allow.String()}}

// AddShared adds those about the recommender and the updater.
func (f *recommenderFlags) AddShared(fs *pflag.FlagSet) {
	fs.StringVar(&f.namespace, "vpa-object-namespace", "",
		"The one namespace whose vertical autoscalers are served; without it, all.")
	fs.StringVar(&f.ignored, "ignored-vpa-object-namespaces", "",
		"Comma-separated namespaces whose vertical autoscalers are ignored.")
	fs.StringToStringVar(&f.gates, "feature-gates", nil,
		"Upstream's feature gates, comma-separated: CPUStartupBoost, InPlace, PerVPAConfig, each =true or =false. All are "+
			"off by default.")
	fs.StringVar(&f.divergences, "vertical-divergences", "default",
		"Differences from upstream's vertical autoscaler that are in force: default, none, or comma-separated names "+
			"(docs/reference/divergences.md).")
	flags.AddDivergences(fs, "vertical-divergences", verticaldivergence.All())
	fs.StringVar((*string)(&f.Conflict), "vertical-conflict", conflict.Skip.String(),
		"What to do with a resource that a HorizontalPodAutoscaler has a Utilization target on: skip leaves it unchanged, "+
			"allow changes it.")
	flags.AddValues(fs, "vertical-conflict", conflictModes)
}

func (f *recommenderFlags) addFormula(fs *pflag.FlagSet) {
	fs.Float64Var(&f.margin, "recommendation-margin-fraction", 0.15,
		"The safety margin that is added to the percentiles of usage, as a fraction.")
	fs.Float64Var(&f.minCPUMilli, "pod-recommendation-min-cpu-millicores", 25, "The minimum CPU of a pod.")
	fs.Float64Var(&f.minMemoryMiB, "pod-recommendation-min-memory-mb", 250, "The minimum memory of a pod, in MiB.")
	for r := range vertical.Resource(vertical.Resources) {
		fs.Float64Var(&f.target[r], "target-"+r.String()+"-percentile", 0.9,
			"The percentile of usage for the target.")
		fs.Float64Var(&f.lower[r], "recommendation-lower-bound-"+r.String()+"-percentile", 0.5,
			"The percentile of usage for the lower bound.")
		fs.Float64Var(&f.upper[r], "recommendation-upper-bound-"+r.String()+"-percentile", 0.95,
			"The percentile of usage for the upper bound.")
		fs.DurationVar(&f.confidence[r], "confidence-interval-"+r.String(), 24*time.Hour,
			"With this much history, the upper bound is twice the percentile of usage.")
		fs.DurationVar(&f.halfLife[r], r.String()+"-histogram-decay-half-life", 24*time.Hour,
			"The time after which the weight of a sample halves.")
	}
	fs.BoolVar(&f.humanize, "humanize-memory", false,
		"Print memory with a unit and two decimals. Deprecated: use --round-memory-bytes.")
	fs.IntVar(&f.roundCPU, "round-cpu-millicores", 1, "Round CPU up to a multiple of this value.")
	fs.IntVar(&f.roundMemory, "round-memory-bytes", 1, "Round memory up to a multiple of this value.")
	fs.BoolVar(&f.integerCPU, "cpu-integer-post-processor-enabled", false,
		"Round CPU up to whole cores for containers whose object has the annotation "+
			"vpa-post-processor.kubernetes.io/NAME_integerCPU.")
	fs.Var(&f.maxCPU, "container-recommendation-max-allowed-cpu",
		"The maximum CPU of a container whose object sets no maxAllowed.")
	fs.Var(&f.maxMemory, "container-recommendation-max-allowed-memory",
		"The maximum memory of a container whose object sets no maxAllowed.")
}

func (f *recommenderFlags) addHistory(fs *pflag.FlagSet) {
	fs.DurationVar(&f.memoryInterval, "memory-aggregation-interval", 24*time.Hour,
		"The length of the intervals whose memory peaks are recorded.")
	fs.Int64Var(&f.memoryCount, "memory-aggregation-interval-count", 8,
		"The number of these intervals without samples after which a container is forgotten.")
	fs.Float64Var(&f.bumpUpRatio, "oom-bump-up-ratio", 1.2,
		"The factor by which memory is raised after a container ran out of it.")
	fs.Float64Var(&f.minBumpUp, "oom-min-bump-up-bytes", 100<<20,
		"The minimum by which memory is raised after a container ran out of it.")
}

// Validate names every flag that has a value which cannot work.
func (f *recommenderFlags) Validate(check flags.Check) {
	positive := func(value time.Duration, flag string) { check(value > 0, flag, value, "must be greater than 0") }
	positive(f.interval, "recommender-interval")
	positive(f.checkpointsGC, "checkpoints-gc-interval")
	positive(f.checkpointsTimeout, "checkpoints-timeout")
	positive(f.memoryInterval, "memory-aggregation-interval")
	check(f.memoryCount >= 1, "memory-aggregation-interval-count", f.memoryCount, "must be greater than 0")
	f.history.validate(check)
	check(f.workers >= 1, "update-worker-count", f.workers, "must be greater than 0")
	check(f.namespace == "" || f.ignored == "", "vpa-object-namespace", f.namespace,
		"cannot be used with --ignored-vpa-object-namespaces")
	number := func(value, least float64, flag string) {
		check(value >= least && !math.IsInf(value, 0), flag, value,
			fmt.Sprintf("must be a number that is at least %g", least))
	}
	number(f.margin, 0, "recommendation-margin-fraction")
	number(f.minCPUMilli, 0, "pod-recommendation-min-cpu-millicores")
	number(f.minMemoryMiB, 0, "pod-recommendation-min-memory-mb")
	number(f.bumpUpRatio, 1, "oom-bump-up-ratio")
	number(f.minBumpUp, 0, "oom-min-bump-up-bytes")
	for r := range vertical.Resource(vertical.Resources) {
		share := func(value float64, flag string) { check(value >= 0 && value <= 1, flag, value, "must be from 0 to 1") }
		share(f.target[r], "target-"+r.String()+"-percentile")
		share(f.lower[r], "recommendation-lower-bound-"+r.String()+"-percentile")
		share(f.upper[r], "recommendation-upper-bound-"+r.String()+"-percentile")
		positive(f.confidence[r], "confidence-interval-"+r.String())
		positive(f.halfLife[r], r.String()+"-histogram-decay-half-life")
	}
	check(f.roundCPU >= 1, "round-cpu-millicores", f.roundCPU, "must be greater than 0")
	check(f.roundMemory >= 1, "round-memory-bytes", f.roundMemory, "must be greater than 0")
	check(f.maxCPU.Sign() >= 0, "container-recommendation-max-allowed-cpu", f.maxCPU.String(), "must not be negative")
	check(f.maxMemory.Sign() >= 0, "container-recommendation-max-allowed-memory", f.maxMemory.String(),
		"must not be negative")
	check(f.Conflict.IsValid(), "vertical-conflict", f.Conflict, "must be skip or allow")
	var err error
	f.Features, err = flags.ParseGates(f.gates)
	check(err == nil, "feature-gates", f.gates, fmt.Sprint(err))
	f.differs, err = verticaldivergence.Parse(f.divergences)
	check(err == nil, "vertical-divergences", f.divergences, fmt.Sprint(err))
}

// policy is the flags that take part in a decision.
func (f *recommenderFlags) policy() recommend.Policy {
	p := recommend.DefaultPolicy()
	p.Usage = usage.Policy{
		HalfLife: f.halfLife, Interval: f.memoryInterval, Count: f.memoryCount,
		BumpUpRatio: f.bumpUpRatio, MinBumpUpBytes: f.minBumpUp, Divergences: f.differs,
	}
	p.MarginFraction = f.margin
	p.CountContention = f.countContention
	p.ConfidenceInterval = f.confidence
	for r := range vertical.Resource(vertical.Resources) {
		p.Percentiles[r] = estimate.Percentiles{Target: f.target[r], Lower: f.lower[r], Upper: f.upper[r]}
	}
	p.PodMin = [vertical.Resources]float64{f.minCPUMilli, f.minMemoryMiB}
	p.Round = [vertical.Resources]int{f.roundCPU, f.roundMemory}
	p.HumanizeMemory = f.humanize
	most := corev1.ResourceList{}
	if !f.maxCPU.IsZero() {
		most[corev1.ResourceCPU] = f.maxCPU.Quantity
	}
	if !f.maxMemory.IsZero() {
		most[corev1.ResourceMemory] = f.maxMemory.Quantity
	}
	p.MaxAllowed = observevertical.AmountsOf(most)
	return p
}

// Config returns the recommender's configuration from the flags.
func (f *recommenderFlags) Config() recommender.Config {
	cfg := recommender.Config{
		Name: f.name, Namespace: f.namespace, Ignored: f.ignoredNamespaces(),
		Interval: f.interval, CollectInterval: f.checkpointsGC, FlushTimeout: f.checkpointsTimeout, Workers: f.workers,
		NoOverrides: !f.Features.PerVPAConfig, IntegerCPU: f.integerCPU, Policy: f.policy(),
		SkipsConflicts: f.Conflict.Skips(),
	}
	if f.history.client != nil {
		cfg.History = f.history.client
	}
	return cfg
}

// Divergences returns the divergences that the flag leaves on.
func (f *recommenderFlags) Divergences() verticaldivergence.Set { return f.differs }

// ignoredNamespaces returns the namespaces whose objects are not decided.
func (f *recommenderFlags) ignoredNamespaces() []string {
	if f.ignored == "" {
		return nil
	}
	return strings.Split(f.ignored, ",")
}
