package simulate

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/recorded"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	hpas, sets, sides            []string
	workload, load, plot, output string
	all                          bool
	lasts                        time.Duration
	speedUp, podCapacity         float64
	burstiness                   float64
	seed                         uint64
	replicas                     int32
	slow                         time.Duration
	price                        float64

	start string

	forecast bool
	recordedFlags
	// recorded is nil without --from.
	recorded *recorded.Object

	// isPodMadeUp says that nothing named what a pod requests.
	isPodMadeUp bool

	pods       simulate.Workload
	cpu, limit flags.MilliCPU
	perRequest flags.MilliCPU
	startUpCPU flags.MilliCPU
	readyAfter time.Duration
	startUpFor time.Duration
	rollouts   []time.Duration

	outages      []world.Outage
	clockOffsets []time.Duration

	nodes     int
	nodeCPU   flags.MilliCPU
	nodeDelay time.Duration
	timing    simulate.Timing
}

func newSimulateFlags() *simulateFlags {
	return &simulateFlags{pods: simulate.DefaultWorkload(), timing: simulate.DefaultTiming()}
}

func (f *simulateFlags) add(fs *pflag.FlagSet) {
	fs.StringSliceVar(&f.hpas, "hpa", nil,
		"A file with a HorizontalPodAutoscaler or a WorkloadAutoscaler; several are compared.")
	fs.StringVar(&f.workload, "workload", "", "A file with the workload that it scales, if it is not in the same file.")
	fs.StringVar(&f.load, "load", "",
		"The load: a trace (.csv or .csv.gz), step:…, ramp:…, sine:…, poisson:… or generated:NAME.")
	fs.DurationVar(&f.lasts, "for", 0, "The length of the simulation; by default the whole trace, or one hour of a shape.")
	fs.StringVar(&f.start, "start", "",
		"The start within a trace, such as 2026-11-23T08:00:00Z, or 8h after its first row. A shape starts at that date, "+
			"for schedules; by default at midnight in UTC.")
	fs.Float64Var(&f.speedUp, "speed-up", 1, "Play the load this many times faster.")
	fs.StringSliceVar(&f.sides, "as", []string{simulate.BothSides},
		"The controller that decides: upstream, plimsoll or both. WorkloadAutoscalers are decided by plimsoll only.")
	fs.Float64Var(&f.podCapacity, "pod-capacity", 0,
		"The requests per second that one pod serves at 100 % of its CPU request. By default it follows from the "+
			"autoscaler as it is without --set: from a target in requests, or else so that the peak of the load needs "+
			"70 % of maxReplicas.")
	fs.StringArrayVar(&f.sets, "set", nil,
		"Set a field of every autoscaler, such as spec.maxReplicas=20. Different values of one field are compared.")
	fs.Uint64Var(&f.seed, "seed", 1,
		"The seed of all randomness: arrivals, and the start of the loops within their periods.")
	fs.Float64Var(&f.burstiness, "burstiness", 1,
		"The variance of requests per second, divided by their mean: 1 is Poisson, 0 no noise.")
	fs.StringVar(&f.plot, "plot", "", "Write a plot to this file, .svg or .png.")
	fs.StringVarP(&f.output, "output", "o", "text", "text, json or csv.")
	fs.BoolVar(&f.all, "all", false, "Print all rows of the score, also those of SPEC's measures of elasticity.")
	f.addModel(fs)
	f.addForecast(fs)
	f.recordedFlags.add(fs)
}

func (f *simulateFlags) addModel(fs *pflag.FlagSet) {
	fs.Int32Var(&f.replicas, "replicas", 0,
		"The replica count at the start; by default as many as the load needs then.")
	fs.Var(&f.cpu, "cpu-request", "A pod's CPU request, instead of the workload's (without one, 500m).")
	fs.Var(&f.limit, "cpu-limit", "A pod's CPU limit, instead of the workload's.")
	fs.Float64Var(&f.pods.Burst, "burst", f.pods.Burst,
		"The CPU that a pod without a limit can use, as a multiple of its CPU request.")
	fs.Var(&f.perRequest, "cpu-per-request",
		"The CPU seconds of one request, such as 10m, instead of --pod-capacity.")
	fs.Var((*memoryFlag)(&f.pods.Profile), "memory",
		"The memory of a pod, such as base=200Mi,request=1Mi: base is what it uses without requests (default 32Mi), request "+
			"what each request adds that waits in the pod or was served in the last second (default 64Ki).")
	fs.DurationVar(&f.pods.StartAfter, "start-after", f.pods.StartAfter,
		"The time from scheduling a pod until its containers run: images, volumes.")
	fs.DurationVar(&f.readyAfter, "ready-after", 0,
		"The time from running until ready; by default the delay of its probes, otherwise 5s.")
	fs.DurationVar(&f.pods.StopAfter, "stop-after", f.pods.StopAfter,
		"How long a deleted pod stays after its last request, within its grace period.")
	f.addWork(fs)
	f.addSamples(fs)
	fs.Float64Var(&f.pods.Profile.Imbalance, "imbalance", 0, "How unevenly the load falls on pods, 0 to below 1.")
	fs.IntVar(&f.nodes, "nodes", 0,
		"The number of nodes; new ones are added when pods do not fit. By default pods always fit.")
	f.nodeCPU = 4000
	fs.Var(&f.nodeCPU, "node-cpu", "The allocatable CPU of a node, with --nodes.")
	fs.DurationVar(&f.nodeDelay, "node-delay", 90*time.Second, "How long it takes to add a node, with --nodes.")
	fs.DurationVar(&f.timing.Upstream.Sync, "sync-period", f.timing.Upstream.Sync,
		"Upstream's --horizontal-pod-autoscaler-sync-period.")
	fs.DurationVar(&f.timing.Upstream.Resolution, "metric-resolution", f.timing.Upstream.Resolution,
		"How often metrics-server scrapes kubelets, for upstream's loop.")
	fs.DurationVar(&f.timing.Upstream.Lag, "metric-lag", f.timing.Upstream.Lag,
		"The delay until metrics-server serves a scraped sample.")
	fs.DurationVar(&f.timing.Plimsoll.Interval, "kubelet-scrape-interval", f.timing.Plimsoll.Interval,
		"How often Plimsoll scrapes kubelets.")
	fs.DurationVar(&f.timing.Plimsoll.Agents, "node-agent-interval", 0,
		"How often Plimsoll scrapes the agent of each node (plimsoll node-agent), such as 250ms. By default there are no "+
			"agents and Plimsoll scrapes kubelets.")
	fs.DurationVar(&f.timing.Housekeeping, "housekeeping-interval", f.timing.Housekeeping,
		"The --housekeeping-interval of kubelets: they sample each pod every one to two intervals. 0 gives a fresh sample "+
			"at every scrape.")
	fs.DurationVar(&f.slow, "slow", time.Second, "A request that takes longer is slow.")
	fs.Float64Var(&f.price, "core-hour-price", 0.04,
		"The price of one core for an hour: of requests, or of nodes with --nodes.")
}
