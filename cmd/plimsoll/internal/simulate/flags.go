package simulate

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/equality"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/recorded"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// mostSettings are how many are compared at most.
const mostSettings = 16

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

// compared is what is played, and the autoscaler as it is before --set changes it: the first one, where there are
// several.
type compared struct {
	settings   []simulate.Setting
	unmodified observehorizontal.Autoscaler
	// objects are all that the files hold.
	objects []manifest.Object
}

// compare has each file, with each combination of fields, under each loop.
func (f *simulateFlags) compare() (*compared, error) {
	if len(f.hpas) == 0 && f.recorded == nil {
		return nil, cmderror.Usagef(
			"--hpa: name a file with a HorizontalPodAutoscaler or WorkloadAutoscaler, or use --from")
	}
	combinations, err := f.combinations()
	if err != nil {
		return nil, err
	}
	sides, err := simulate.ParseSides(f.sides)
	if err != nil {
		return nil, cmderror.Usagef("--as: %w", err)
	}
	c := &compared{}
	var files []named
	if c.objects, files, err = f.read(); err != nil {
		return nil, err
	}
	for i := range files {
		if err := c.add(&files[i], combinations, sides); err != nil {
			return nil, err
		}
	}
	if c.unmodified, err = files[0].object.Autoscaler(); err != nil {
		// --set may have mended it.
		c.unmodified = c.settings[0].Autoscaler()
	}
	if c.settings, err = f.withForecasts(c.settings); err != nil {
		return nil, err
	}
	if len(c.settings) > mostSettings {
		return nil, cmderror.Usagef("these are %d settings, at most %d are compared", len(c.settings), mostSettings)
	}
	return c, nil
}

// named is an object and what sets it apart from the others; empty if there are none.
type named struct {
	object *manifest.Object
	name   string
}

// read reads all files, and says which of their objects are autoscalers.
func (f *simulateFlags) read() (all []manifest.Object, hpas []named, err error) {
	if f.recorded != nil {
		all = append(all, f.recorded.Manifests...)
		hpas = append(hpas, named{object: &f.recorded.Manifests[0], name: f.recorded.Key.Name})
	}
	for _, file := range f.hpas {
		objects, err := manifest.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("--hpa: %w", err)
		}
		all = append(all, objects...)
		before := len(hpas)
		for i := range objects {
			if objects[i].IsAutoscaler() {
				hpas = append(hpas, named{object: &objects[i], name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))})
			}
		}
		if len(hpas) == before {
			return nil, nil, fmt.Errorf("--hpa: %s: there is no %s and no %s in it", file, manifest.HPAKind,
				plimsollv1alpha1.Kind)
		}
		for i := before; i < len(hpas) && len(hpas) > before+1; i++ {
			hpas[i].name = hpas[i].object.Name
		}
	}
	if len(hpas) == 1 {
		hpas[0].name = ""
	}
	return all, hpas, nil
}

// add adds an object with each combination of fields under each side. Upstream's loop is left out where it cannot
// decide the object, unless it alone is asked for.
func (c *compared) add(n *named, combinations [][]manifest.Assignment, sides []simulate.Side) error {
	for _, combination := range combinations {
		changed, err := setAll(n.object, combination)
		if err != nil {
			return err
		}
		a, err := changed.Autoscaler()
		if err != nil {
			return err
		}
		own := sides
		if a.IsWorkload() && len(sides) > 1 {
			own = []simulate.Side{simulate.Plimsoll}
		}
		for _, side := range own {
			setting := simulate.Setting{Side: side, HPA: a.HPA, Workload: a.Workload}
			if err := checkUsed(n.object, combination, &setting); err != nil {
				return err
			}
			setting.Name = nameOf(n.name, combination, len(combinations) > 1, side, len(own) > 1)
			c.settings = append(c.settings, setting)
		}
	}
	return nil
}

func setAll(object *manifest.Object, combination []manifest.Assignment) (changed *manifest.Object, err error) {
	changed = object
	for _, a := range combination {
		if changed, err = changed.With(a); err != nil {
			return nil, cmderror.Usagef("--set: %w", err)
		}
	}
	return changed, nil
}

// checkUsed reports a field that is set to another value, and makes no difference to what is played.
func checkUsed(object *manifest.Object, combination []manifest.Assignment, setting *simulate.Setting) error {
	for i, a := range combination {
		without, err := setAll(object, slices.Delete(slices.Clone(combination), i, i+1))
		if err != nil {
			return err
		}
		before, err := without.Autoscaler()
		if err != nil {
			continue // the field is needed
		}
		other := simulate.Setting{Side: setting.Side, HPA: before.HPA, Workload: before.Workload}
		isOther := !equality.Semantic.DeepEqual(before.HPA, setting.HPA) ||
			!equality.Semantic.DeepEqual(before.Workload, setting.Workload)
		if isOther && simulate.AsksForTheSame(&other, setting) {
			return fmt.Errorf("--set: %s: the simulation does not use this field: leave it out", a.Path)
		}
	}
	return nil
}

// nameOf is the label of a setting: only what differs.
func nameOf(name string, combination []manifest.Assignment, isSet bool, side simulate.Side, isOneOf bool) string {
	var parts []string
	if name != "" {
		parts = append(parts, name)
	}
	for i := 0; isSet && i < len(combination); i++ {
		parts = append(parts, shortName(combination, i))
	}
	if isOneOf || len(parts) == 0 {
		parts = append(parts, string(side))
	}
	return strings.Join(parts, " ")
}

// shortName is the last part of an assignment's path with its value, or all of it where another one ends the same.
func shortName(combination []manifest.Assignment, i int) string {
	last := func(a manifest.Assignment) string { return a.Path[strings.LastIndex(a.Path, ".")+1:] }
	for k := range combination {
		if k != i && last(combination[k]) == last(combination[i]) {
			return combination[i].String()
		}
	}
	return last(combination[i]) + "=" + combination[i].Value
}

// combinations are all ways to choose one of the values of each field.
func (f *simulateFlags) combinations() ([][]manifest.Assignment, error) {
	var paths []string
	values := map[string][]manifest.Assignment{}
	for _, text := range f.sets {
		a, err := manifest.ParseAssignment(text)
		if err != nil {
			return nil, cmderror.Usagef("--set: %w", err)
		}
		if values[a.Path] == nil {
			paths = append(paths, a.Path)
		}
		values[a.Path] = append(values[a.Path], a)
	}
	combinations := [][]manifest.Assignment{nil}
	for _, path := range paths {
		var longer [][]manifest.Assignment
		for _, c := range combinations {
			for _, a := range values[path] {
				longer = append(longer, append(c[:len(c):len(c)], a))
			}
		}
		if combinations = longer; len(combinations) > mostSettings {
			return nil, cmderror.Usagef("--set: these are %d combinations, at most %d are compared", len(combinations),
				mostSettings)
		}
	}
	return combinations, nil
}

func (f *simulateFlags) scene(c *compared) (*simulate.Scene, error) {
	l, err := f.whole()
	if err != nil {
		return nil, err
	}
	if !(f.speedUp > 0 && f.speedUp <= 1e6) {
		return nil, cmderror.Usagef("--speed-up: %v, want more than 0", f.speedUp)
	}
	w, err := f.pod(c.unmodified, c.objects)
	if err != nil {
		return nil, err
	}
	part, date, err := f.begin(l)
	if err != nil {
		return nil, cmderror.Usagef("--start: %w", err)
	}
	s, err := f.fit(part.SpedUp(f.speedUp), w, c.unmodified)
	if err != nil {
		return nil, err
	}
	if !date.IsZero() {
		s.Start = date
	}
	if f.burstiness != 1 {
		s.Burstiness = f.burstiness
	}
	s.Seed, s.Replicas, s.Slow, s.CoreHourPrice = f.seed, f.replicas, f.slow, f.price
	s.Timing = f.timing
	if f.nodes > 0 {
		s.Supply.Nodes, s.Supply.CPUMilli, s.Supply.Delay = f.nodes, float64(f.nodeCPU), f.nodeDelay
	}
	return s, nil
}

// whole is the load from its beginning to its end.
func (f *simulateFlags) whole() (*load.Load, error) {
	switch {
	case f.recorded != nil:
		return f.recorded.Load, nil
	case f.load == "":
		return nil, cmderror.Usagef("--load: name a trace or a shape such as step:10@0s,100@10m")
	}
	l, err := load.Parse(f.load)
	if err != nil {
		return nil, cmderror.Usagef("--load: %w", err)
	}
	return l, nil
}

// begin is the part of the load that begins where --start says. A shape has no clock: there a date is when
// the whole of it begins.
func (f *simulateFlags) begin(l *load.Load) (part *load.Load, date time.Time, err error) {
	if f.start == "" {
		return l, time.Time{}, nil
	}
	if offset, err := time.ParseDuration(f.start); err == nil {
		part, err = l.From(offset)
		return part, time.Time{}, err
	}
	if date, err = time.Parse(time.RFC3339, f.start); err != nil {
		return nil, date, fmt.Errorf("%q, want a date as 2026-11-23T08:00:00Z, or a time after the beginning as 8h", f.start)
	}
	if l.Start.IsZero() {
		return l, date, nil
	}
	part, err = l.FromTime(date)
	return part, time.Time{}, err
}

// fit is a scene of what is played of the load.
func (f *simulateFlags) fit(
	l *load.Load, w simulate.Workload, unmodified observehorizontal.Autoscaler,
) (*simulate.Scene, error) {
	s, err := simulate.NewScene(l, w, unmodified)
	if err != nil {
		return nil, err
	}
	s.Rollouts, s.Outages, s.ClockOffsets = f.rollouts, f.outages, f.clockOffsets
	if f.lasts != 0 {
		s.For = f.lasts
	}
	known, err := f.known(&w)
	if err != nil {
		return nil, err
	}
	return s, s.Assume(unmodified, known)
}

// known is what flags and the record say of the requests that a pod serves.
func (f *simulateFlags) known(w *simulate.Workload) (simulate.Known, error) {
	known := simulate.Known{IsInPods: f.recorded != nil}
	switch {
	case f.podCapacity != 0 && f.perRequest != 0:
		return known, cmderror.Usagef("--cpu-per-request and --pod-capacity say the same: leave out one")
	case f.podCapacity < 0 || math.IsNaN(f.podCapacity) || math.IsInf(f.podCapacity, 0):
		return known, cmderror.Usagef("--pod-capacity: %v, want requests per second, more than 0", f.podCapacity)
	case f.podCapacity != 0:
		known.PerSecond, known.From = f.podCapacity, "--pod-capacity"
	case f.perRequest != 0:
		known.PerSecond, known.From = w.CPURequestMilli/float64(f.perRequest), "--cpu-per-request"
	}
	return known, nil
}
