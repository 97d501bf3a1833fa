package simulate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/loop"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Side is whose controller decides.
type Side string

// The sides.
const (
	Upstream Side = "upstream"
	Plimsoll Side = "plimsoll"
)

// BothSides is the name of the two together.
const BothSides = "both"

// ParseSide reads the name of a side.
func ParseSide(text string) (Side, error) {
	switch s := Side(text); s {
	case Upstream, Plimsoll:
		return s, nil
	}
	return "", fmt.Errorf("%q, want %s, %s or %s", text, Upstream, Plimsoll, BothSides)
}

// ParseSides reads the names of sides, each of which is there once.
func ParseSides(texts []string) (sides []Side, err error) {
	for _, text := range texts {
		some := []Side{Upstream, Plimsoll}
		if text != BothSides {
			one, err := ParseSide(text)
			if err != nil {
				return nil, err
			}
			some = []Side{one}
		}
		for _, side := range some {
			if !slices.Contains(sides, side) {
				sides = append(sides, side)
			}
		}
	}
	return sides, nil
}

// Setting is one of those that are compared.
type Setting struct {
	Name string
	Side Side
	// HPA or Workload is the object. The other one is nil.
	HPA      *autoscalingv2.HorizontalPodAutoscaler
	Workload *plimsollv1alpha1.WorkloadAutoscaler
	// Floor raises minReplicas, up to maxReplicas, from minute to minute. It is called once at each whole minute of
	// the load, in order, and may keep a state: a setting with a floor is played once. It may be nil; upstream's loop
	// has none.
	Floor func(at time.Duration) int32
	// Without are divergences that are switched off, of Plimsoll's loop.
	Without divergence.Set
	// Forecast overrides the object's forecast mode; nil keeps it.
	Forecast *forecast.Mode
}

// Autoscaler is the setting's object.
func (s *Setting) Autoscaler() observehorizontal.Autoscaler {
	return observehorizontal.Either(s.HPA, s.Workload)
}

// policy returns the policy of the setting's object. A mode is for a cluster: here it is Active.
func (s *Setting) policy() (horizontal.Policy, error) {
	options := s.Side.options()
	options.Divergences &^= s.Without
	p, _, refusal := observehorizontal.PolicyOf(s.Autoscaler(), options)
	switch {
	case refusal.Reason != "":
		return p, fmt.Errorf("%s: %s", s.Name, refusal.Message)
	case s.Workload != nil && s.Side == Upstream:
		return p, fmt.Errorf("%s: upstream's loop knows no WorkloadAutoscaler", s.Name)
	case s.Floor != nil && s.Side == Upstream:
		return p, fmt.Errorf("%s: upstream's loop has no floor", s.Name)
	case s.Forecast != nil && s.Side == Upstream:
		return p, fmt.Errorf("%s: upstream's loop has no forecast", s.Name)
	}
	for i := range p.Metrics {
		if p.Metrics[i].IsOwnTarget {
			return p, fmt.Errorf("%s: metric %s has the target that its scaler names, which is not known here; set one",
				s.Name, p.Metrics[i].ShortName())
		}
	}
	if own := p.WorkloadAutoscaler; own != nil {
		own.Mode = mode.Active
	}
	if s.Forecast != nil {
		p.Forecast.Mode = *s.Forecast
	}
	return p, nil
}

// asks are how the metrics are asked for that Plimsoll reads itself.
func (s *Setting) asks() []loop.Ask {
	_, specs, _ := observehorizontal.PolicyOf(s.Autoscaler(), s.Side.options())
	asks := make([]loop.Ask, len(specs))
	for i := range specs {
		switch spec := &specs[i]; {
		case spec.PodEndpoint != nil && !spec.PodEndpoint.Pods.IsTarget():
			asks[i].Interval = time.Second
		case spec.Prometheus != nil:
			asks[i].Interval = spec.Prometheus.Interval
		case spec.ExternalScaler != nil:
			asks[i] = loop.Ask{Interval: spec.ExternalScaler.Interval, IsPushed: spec.ExternalScaler.IsPushed}
		}
	}
	return asks
}

// hasSchedules reports whether the time of day matters.
func (s *Setting) hasSchedules() bool { return s.Autoscaler().HasSchedules() }

// Scene has the inputs that all settings share.
type Scene struct {
	Load     *load.Load
	Workload Workload
	// Start is when the load begins, by the clock. Schedules go by it.
	Start time.Time
	// For is how long it is played, Seed what chance is made from.
	For  time.Duration
	Seed uint64
	// ScoreFrom is how much of the beginning is played but not scored.
	ScoreFrom time.Duration
	// PodCapacity is the load, in its own units, that a pod serves at 100 % of its CPU request. Scores use it with the
	// Target, Tolerance and MinReplicas of the object as it is, so that all settings are measured alike: Target is the
	// part of PodCapacity that pods should serve, and loads up to Tolerance above that are not above the target.
	PodCapacity, Target, Tolerance float64
	MinReplicas                    int32
	// Burstiness is that of the arrivals.
	Burstiness float64
	// Replicas are there at the beginning; 0 means as many as the load asks for.
	Replicas int32
	Supply   world.Supply
	Timing   Timing
	// Rollouts are when all pods begin to be replaced, since the load began.
	Rollouts []time.Duration
	// Outages are when nodes do not answer, since the load began. ClockOffsets are how far the clocks of the groups of
	// nodes are ahead, the first group's first.
	Outages      []world.Outage
	ClockOffsets []time.Duration
	// Slow is when a request is, CoreHourPrice what one core costs an hour.
	Slow          time.Duration
	CoreHourPrice float64
	// IsQueue says that requests wait in one queue, which loses none, instead of in the pods.
	IsQueue bool
	// Assumed is what a pod was taken to serve, and why. MetricMeanings are what each metric of the object measures here.
	Assumed        string
	MetricMeanings []string
	// maxReplicas are the first setting's. isInPods says that the load is in pods at the target.
	maxReplicas int32
	isInPods    bool
}

// Timing is when the two controllers decide, and how old their metrics are.
type Timing struct {
	Upstream loop.UpstreamTiming
	Plimsoll loop.PlimsollTiming
	// Housekeeping is the kubelets' --housekeeping-interval; with 0, each scrape samples anew.
	Housekeeping time.Duration
}

// DefaultTiming is that of the defaults of both controllers and of kubelets.
func DefaultTiming() Timing {
	return Timing{
		Upstream: loop.DefaultUpstreamTiming(), Plimsoll: loop.DefaultPlimsollTiming(), Housekeeping: defaultHousekeeping,
	}
}

// The scene's defaults.
const (
	defaultFor           = time.Hour
	defaultSlow          = time.Second
	defaultCoreHourPrice = 0.04
	// peakPart is the part of the largest count that the peak of a load asks for.
	peakPart = 0.7
	// defaultHousekeeping is a kubelet's --housekeeping-interval. A pod is sampled every one to two
	// intervals: of samples that are older than twice the default Plimsoll reads metrics.k8s.io
	// instead, which is not simulated.
	defaultHousekeeping = 10 * time.Second
	mostHousekeeping    = defaultHousekeeping
	// leastHousekeeping keeps samples so far apart that each is new.
	leastHousekeeping = 100 * time.Millisecond
	// leastAgents and mostAgents bound how often the agents of nodes read.
	leastAgents, mostAgents = leastHousekeeping, 10 * time.Second
	// defaultTarget is the part of its CPU request that a pod uses at the target, where no metric says it.
	defaultTarget = 0.7
)

// NewScene is a scene of defaults, fitted to a load, a workload and the first of the
// settings.
func NewScene(l *load.Load, w Workload, first observehorizontal.Autoscaler) (*Scene, error) {
	// What is wrong with it is reported when it is played.
	policy, _, _ := observehorizontal.PolicyOf(first, observehorizontal.DefaultOptions())
	s := &Scene{
		Load: l, Workload: w, For: l.Length, Seed: 1, Target: targetOf(&policy, &w),
		Tolerance: policy.Tolerance.Up, MinReplicas: policy.MinReplicas, maxReplicas: policy.MaxReplicas,
		Burstiness: 1, Slow: defaultSlow, CoreHourPrice: defaultCoreHourPrice,
		Supply: world.Supply{Delay: 90 * time.Second, IdleFor: 10 * time.Minute},
		Timing: DefaultTiming(),
	}
	if !math.IsNaN(l.Burstiness) {
		s.Burstiness = l.Burstiness
	}
	if s.For == 0 {
		s.For = defaultFor
	}
	if s.Start = l.Start; s.Start.IsZero() {
		s.Start = defaultStart.Add(l.Offset())
	}
	if l.Peak <= 0 {
		return nil, fmt.Errorf("load %s: it is never above 0", l.Name)
	}
	if err := s.PlayFor(s.For); err != nil {
		s.PodCapacity = s.capacityFor(l.Peak)
	}
	return s, nil
}

// PlayFor sets how long the load is played, and with it what a pod serves: the peak of what is played
// asks for a part of maxReplicas.
func (s *Scene) PlayFor(lasts time.Duration) error {
	peak := s.Load.PeakWithin(lasts)
	if peak <= 0 {
		return fmt.Errorf("load %s: it is never above 0 in the %v that are played", s.Load.Name, lasts)
	}
	s.For, s.PodCapacity = lasts, s.capacityFor(peak)
	return nil
}

// capacityFor returns the capacity of a pod at which a peak needs this part of maxReplicas.
func (s *Scene) capacityFor(peak float64) float64 {
	return peak / (peakPart * float64(s.maxReplicas) * s.Target)
}

// defaultStart is when shapes begin: at midnight, as generated days do.
var defaultStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *Scene) validate() error {
	switch {
	case s.For < time.Second:
		return fmt.Errorf("it lasts %v, want at least a second", s.For)
	case s.ScoreFrom < 0 || s.ScoreFrom >= s.For:
		return fmt.Errorf("it is scored from %v on, and lasts %v", s.ScoreFrom, s.For)
	case slices.ContainsFunc(s.Rollouts, func(at time.Duration) bool { return at < 0 }):
		return errors.New("a rollout begins before the load")
	case !(s.PodCapacity > 0) || math.IsInf(s.PodCapacity, 0):
		return fmt.Errorf("a pod serves %v of the load, want a number above 0", s.PodCapacity)
	}
	if err := s.validateNodes(); err != nil {
		return err
	}
	if err := s.Timing.validate(); err != nil {
		return err
	}
	return s.Workload.validate()
}

// mostOffset is how far the clocks of nodes may be off.
const mostOffset = 24 * time.Hour

func (s *Scene) validateNodes() error {
	for _, o := range s.Outages {
		switch {
		case o.Groups < 1 || o.Groups > groups:
			return fmt.Errorf("outage of nodes: groups=%d, want 1 to %d", o.Groups, groups)
		case o.From < 0 || o.From >= s.For:
			return fmt.Errorf("outage of nodes: from=%v, want 0s or later, and before the load ends after %v", o.From, s.For)
		case o.To <= o.From:
			return fmt.Errorf("outage of nodes: for=%v, want more than 0s", o.To-o.From)
		}
	}
	if len(s.ClockOffsets) > groups {
		return fmt.Errorf("clock offsets of nodes: these are %d, want one for each of %d groups at most",
			len(s.ClockOffsets), groups)
	}
	for _, offset := range s.ClockOffsets {
		if offset < -mostOffset || offset > mostOffset {
			return fmt.Errorf("clock offsets of nodes: %v, want %v to %v", offset, -mostOffset, mostOffset)
		}
	}
	return nil
}

func (t *Timing) validate() error {
	switch {
	case t.Upstream.Sync <= 0 || t.Upstream.Resolution <= 0 || t.Upstream.Lag < 0:
		return errors.New("sync period and metric resolution must be above 0, and the lag not below")
	case t.Upstream.Lag >= t.Upstream.Resolution:
		return errors.New("the metrics' lag must be shorter than their resolution")
	case t.Plimsoll.Interval < 2*t.Plimsoll.Jitter || t.Plimsoll.Interval <= 0:
		return errors.New("the scrape interval is too short")
	case t.Plimsoll.Agents != 0 && (t.Plimsoll.Agents < leastAgents || t.Plimsoll.Agents > mostAgents):
		return fmt.Errorf("agents that read every %v, want %v to %v, or 0 for none", t.Plimsoll.Agents, leastAgents,
			mostAgents)
	case t.Housekeeping != 0 &&
		(t.Housekeeping < leastHousekeeping || t.Housekeeping > mostHousekeeping):
		return fmt.Errorf("a housekeeping interval of %v, want %v to %v, or 0 for fresh samples",
			t.Housekeeping, leastHousekeeping, mostHousekeeping)
	}
	return nil
}

func (s Side) options() observehorizontal.Options {
	o := observehorizontal.DefaultOptions()
	if s == Upstream {
		o.Surge, o.Divergences, o.Forecast = surge.Settings{}, divergence.None, forecast.Off
	}
	return o
}

// requestsPerUnit turns the load's units into requests per second: a pod at 100 % of
// its request serves PodCapacity.
func (s *Scene) requestsPerUnit() float64 {
	return s.Workload.servesAtFull() / s.PodCapacity
}

func (s *Scene) replicas(p *horizontal.Policy) int32 {
	if s.Replicas > 0 {
		return s.Replicas
	}
	needed := math.Ceil(s.Load.Rate(0)/(s.PodCapacity*s.Target) - 1e-9)
	return max(p.MinReplicas, min(p.MaxReplicas, int32(min(needed, math.MaxInt32))))
}

// loopSeed determines when loops and kubelets begin within their periods. The load's name is a part of
// it: otherwise these times would be the same few for all loads that are played with a few seeds, for their
// whole length. The folder of a trace is none.
func (s *Scene) loopSeed() uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, s.Seed) // a hash takes everything
	_, _ = h.Write([]byte(filepath.Base(s.Load.Name)))
	return h.Sum64()
}

func (s *Scene) world(p *horizontal.Policy) (*world.World, error) {
	arrivals, err := load.NewArrivals(load.ArrivalsConfig{
		Load: s.Load, PerUnit: s.requestsPerUnit(), Burstiness: s.Burstiness, Before: warmUp, Seed: s.Seed,
	})
	if err != nil {
		return nil, err
	}
	rollouts := make([]time.Duration, len(s.Rollouts))
	for i, at := range s.Rollouts {
		rollouts[i] = warmUp + at
	}
	slices.Sort(rollouts)
	outages := slices.Clone(s.Outages)
	for i := range outages {
		outages[i].From, outages[i].To = warmUp+outages[i].From, warmUp+outages[i].To
	}
	w := &s.Workload
	return world.New(world.Config{
		Seed: s.loopSeed(), Epoch: s.Start.Add(-warmUp), Load: arrivals, Container: w.Pod.Spec.Containers[0].Name,
		Profile: w.Profile, Sidecars: w.Sidecars, Work: w.Work, Rollouts: rollouts,
		Resources: workloadmodel.Resources{
			CPURequestMilli: w.CPURequestMilli, CPULimitMilli: w.ceilingMilli(), MemoryLimitBytes: w.MemoryLimitBytes,
		},
		StartAfter: w.StartAfter, ReadyAfter: w.ReadyAfter,
		Grace: w.Grace, PreStop: w.PreStop, StopAfter: w.StopAfter, IsQueue: s.IsQueue,
		Replicas: s.replicas(p), Groups: groups, Supply: s.Supply, Housekeeping: s.Timing.Housekeeping,
		Outages: outages, ClockOffsets: s.ClockOffsets,
	})
}
