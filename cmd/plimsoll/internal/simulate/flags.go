package simulate

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
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
	fs.DurationVar(&f.lasts, "for", 0, "How long it is played; by default a whole trace, or an hour of a shape.")
	fs.StringVar(&f.start, "start", "",
		"Where in a trace it begins, as in 2026-11-23T08:00:00Z, or 8h for that long after its first row. A shape begins "+
			"at that date, for schedules; by default at midnight in UTC.")
	fs.Float64Var(&f.speedUp, "speed-up", 1, "How many times as fast the load goes.")
	fs.StringSliceVar(&f.sides, "as", []string{string(simulate.Upstream), string(simulate.Plimsoll)},
		"Whose loop decides: upstream, plimsoll, or both; on WorkloadAutoscalers only plimsoll.")
	fs.Float64Var(&f.podCapacity, "pod-capacity", 0,
		"The load, in its own units, that one pod serves at 100 % of its CPU request. By default the "+
			"peak of what is played asks for 70 % of maxReplicas.")
	fs.StringArrayVar(&f.sets, "set", nil,
		"Set a field of every autoscaler, as in spec.maxReplicas=20. Fields set twice are "+
			"compared.")
	fs.Uint64Var(&f.seed, "seed", 1,
		"What chance is made from: arrivals, and when the loops begin within their periods.")
	fs.Float64Var(&f.burstiness, "burstiness", 1,
		"The variance of the requests of a second in parts of their mean: 1 is Poisson, 0 no noise.")
	fs.StringVar(&f.plot, "plot", "", "Draw a picture into this file, .svg or .png.")
	fs.StringVarP(&f.output, "output", "o", "text", "text, json or csv.")
	f.addModel(fs)
	f.addForecast(fs)
	f.recordedFlags.add(fs)
}

func (f *simulateFlags) addModel(fs *pflag.FlagSet) {
	fs.Int32Var(&f.replicas, "replicas", 0,
		"The replicas at the beginning; by default as many as the load asks for then.")
	fs.Var(&f.cpu, "cpu-request", "A pod's CPU request, instead of the workload's (without one, 500m).")
	fs.Var(&f.limit, "cpu-limit", "A pod's CPU limit, instead of the workload's.")
	fs.Float64Var(&f.pods.Burst, "burst", f.pods.Burst,
		"How many times its CPU request a pod without a limit gets at most.")
	fs.Var(&f.perRequest, "cpu-per-request",
		"The CPU seconds of one request, as in 10m; by default a pod serves 50 a second at 100 % of its CPU "+
			"request.")
	fs.DurationVar(&f.pods.StartAfter, "start-after", f.pods.StartAfter,
		"From a pod's place on a node until its containers run: images, volumes.")
	fs.DurationVar(&f.readyAfter, "ready-after", 0,
		"From there until it is ready; by default what its probes wait for, or else 5s.")
	fs.DurationVar(&f.pods.StopAfter, "stop-after", f.pods.StopAfter,
		"How long a pod that is to go is there after its last request, within its grace period.")
	f.addWork(fs)
	f.addSamples(fs)
	fs.Float64Var(&f.pods.Profile.Imbalance, "imbalance", 0, "How unevenly the load falls on pods, 0 to below 1.")
	fs.IntVar(&f.nodes, "nodes", 0,
		"How many nodes there are; more come when pods find no room. By default there is always room.")
	f.nodeCPU = 4000
	fs.Var(&f.nodeCPU, "node-cpu", "What a node has for pods, with --nodes.")
	fs.DurationVar(&f.nodeDelay, "node-delay", 90*time.Second, "How long another node takes, with --nodes.")
	fs.DurationVar(&f.timing.Upstream.Sync, "sync-period", f.timing.Upstream.Sync,
		"Upstream's --horizontal-pod-autoscaler-sync-period.")
	fs.DurationVar(&f.timing.Upstream.Resolution, "metric-resolution", f.timing.Upstream.Resolution,
		"How often metrics-server asks kubelets, for upstream's loop.")
	fs.DurationVar(&f.timing.Upstream.Lag, "metric-lag", f.timing.Upstream.Lag,
		"How long it takes until what it was told can be asked for.")
	fs.DurationVar(&f.timing.Plimsoll.Interval, "kubelet-scrape-interval", f.timing.Plimsoll.Interval,
		"How often Plimsoll asks kubelets.")
	fs.DurationVar(&f.timing.Plimsoll.Agents, "node-agent-interval", 0,
		"How often an agent on each node (plimsoll node-agent) reads what pods use, 250ms for its default, and how "+
			"often Plimsoll asks it; by default there are none, and Plimsoll asks kubelets.")
	fs.DurationVar(&f.timing.Housekeeping, "housekeeping-interval", f.timing.Housekeeping,
		"The kubelets' --housekeeping-interval: they sample each pod every one to two of these; 0 for a fresh sample "+
			"at every scrape.")
	fs.DurationVar(&f.slow, "slow", time.Second, "A request that takes longer is slow.")
	fs.Float64Var(&f.price, "core-hour-price", 0.04,
		"What a core costs an hour: of requests, or of nodes with --nodes.")
}

// settings are what is compared: each file, with each combination of fields, under each
// loop. The objects are all that the files hold.
func (f *simulateFlags) settings() ([]simulate.Setting, []manifest.Object, error) {
	if len(f.hpas) == 0 && f.recorded == nil {
		return nil, nil, cmderror.Usagef(
			"--hpa: say which HorizontalPodAutoscaler or WorkloadAutoscaler to simulate, or --from")
	}
	combinations, err := f.combinations()
	if err != nil {
		return nil, nil, err
	}
	var settings []simulate.Setting
	all, files, err := f.read()
	if err != nil {
		return nil, nil, err
	}
	for i := range files {
		if settings, err = f.append(settings, &files[i], combinations); err != nil {
			return nil, nil, err
		}
	}
	if settings, err = f.withForecasts(settings); err != nil {
		return nil, nil, err
	}
	if len(settings) > mostSettings {
		return nil, nil, cmderror.Usagef("these are %d settings, at most %d are compared", len(settings), mostSettings)
	}
	return settings, all, nil
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

func (f *simulateFlags) append(
	settings []simulate.Setting, n *named, combinations [][]manifest.Assignment,
) ([]simulate.Setting, error) {
	for _, combination := range combinations {
		changed, names := n.object, []string{}
		for _, a := range combination {
			var err error
			if changed, err = changed.With(a); err != nil {
				return nil, cmderror.Usagef("--set: %w", err)
			}
			names = append(names, a.String())
		}
		a, err := changed.Autoscaler()
		if err != nil {
			return nil, err
		}
		for _, side := range f.sides {
			as, err := simulate.ParseSide(side)
			if err != nil {
				return nil, cmderror.Usagef("--as: %w", err)
			}
			if a.IsWorkload() && as == simulate.Upstream && len(f.sides) > 1 {
				continue
			}
			settings = append(settings, simulate.Setting{
				Name: f.nameOf(n.name, names, side, len(combinations)), Side: as,
				HPA: a.HPA, Workload: a.Workload,
			})
		}
	}
	return settings, nil
}

// nameOf names what sets a setting apart.
func (f *simulateFlags) nameOf(name string, sets []string, side string, combinations int) string {
	var parts []string
	if name != "" {
		parts = append(parts, name)
	}
	if combinations > 1 {
		parts = append(parts, sets...)
	}
	if len(f.sides) > 1 || len(parts) == 0 {
		parts = append(parts, side)
	}
	return strings.Join(parts, " ")
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

func (f *simulateFlags) scene(settings []simulate.Setting, objects []manifest.Object) (*simulate.Scene, error) {
	l, err := f.whole()
	if err != nil {
		return nil, err
	}
	if !(f.speedUp > 0 && f.speedUp <= 1e6) {
		return nil, cmderror.Usagef("--speed-up: %v, want more than 0", f.speedUp)
	}
	w, err := f.pod(settings[0].Autoscaler().Target(), objects)
	if err != nil {
		return nil, err
	}
	part, date, err := f.begin(l)
	if err != nil {
		return nil, cmderror.Usagef("--start: %w", err)
	}
	s, err := f.fit(part.SpedUp(f.speedUp), w, settings)
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
		return nil, cmderror.Usagef("--load: say which load to play, a trace or a shape such as step:10@0s,100@10m")
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
func (f *simulateFlags) fit(l *load.Load, w simulate.Workload, settings []simulate.Setting) (*simulate.Scene, error) {
	s, err := simulate.NewScene(l, w, settings[0].Autoscaler())
	if err != nil {
		return nil, err
	}
	s.Rollouts, s.Outages, s.ClockOffsets = f.rollouts, f.outages, f.clockOffsets
	if f.lasts != 0 {
		s.For = f.lasts
	}
	switch {
	case f.recorded != nil:
		s.PodCapacity, err = f.recorded.PodCapacity(w)
		return s, err
	case f.podCapacity != 0:
		s.PodCapacity = f.podCapacity
		return s, nil
	}
	err = s.PlayFor(s.For)
	return s, err
}
