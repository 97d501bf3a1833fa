package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/loop"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// How the world goes: pods that are ready three seconds after the scale write,
// on three nodes.
const (
	nodeCount    = 3
	toRun        = time.Second
	toBeReady    = 3 * time.Second
	startupMilli = 300
	maxReplicas  = 400
)

// run is one run of a scenario.
type run struct {
	scenario *scenario
	surgeAt  time.Duration
	// changes are when pods begin to behave otherwise, hot when one is hot and working
	// when all do work by themselves: from each even entry to the next odd one.
	changes, hot, working []time.Duration
	world                 *world.World
	loop                  loop.Loop
	seen                  outcome
	// above counts decisions in which too few events were all that spoke against a surge so far.
	above int
}

// outcome is what a run came to.
type outcome struct {
	// actions are scale writes, asked decisions in which the surge window asked.
	actions, asked int
	podHours       float64
	// excessPodHours are those of pods beyond what the load takes.
	excessPodHours float64
	// firstUp and nearUp are how long after the surge began more was wanted than
	// before, and nine tenths of what it takes; NaN if that was never so.
	firstUp, nearUp float64
	// most is the largest count that was wanted.
	most int32
}

// newRun is a run of Plimsoll.
func newRun(s *scenario, seed uint64, window surge.Settings) (*run, error) {
	return newRunWithAgents(s, seed, window, 0)
}

// newRunWithAgents is one whose nodes have agents that read so often; with 0 there are none.
func newRunWithAgents(s *scenario, seed uint64, window surge.Settings, agents time.Duration) (*run, error) {
	r, config, err := prepare(s, seed)
	if err != nil {
		return nil, err
	}
	timing := loop.DefaultPlimsollTiming()
	timing.Aligned, timing.Agents = s.aligned(), agents
	config.Policy = s.policyWith(window)
	r.loop = loop.NewPlimsoll(config, timing)
	return r, nil
}

// newUpstreamRun is a run of upstream's controller with its defaults.
func newUpstreamRun(s *scenario, seed uint64) (*run, error) {
	r, config, err := prepare(s, seed)
	if err != nil {
		return nil, err
	}
	config.Policy = s.policyWith(surge.Settings{})
	config.Policy.Divergences = divergence.None
	r.loop = loop.NewUpstream(config, loop.DefaultUpstreamTiming())
	return r, nil
}

// prepare makes a run's world; the loop and its policy are missing.
func prepare(s *scenario, seed uint64) (*run, loop.Config, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	r := &run{
		scenario: s, surgeAt: warmUp + time.Duration(random.Int64N(int64(3*time.Second))),
		seen: outcome{firstUp: math.NaN(), nearUp: math.NaN()},
	}
	load, err := s.load(random, r.surgeAt)
	if err != nil {
		return nil, loop.Config{}, fmt.Errorf("load of %s: %w", s.name, err)
	}
	r.hot = s.heat(random)
	r.working = s.work.times(random, warmUp+s.lasts)
	r.changes = append(slices.Concat(r.hot, r.working), warmUp)
	slices.Sort(r.changes)
	request := s.requestMilli()
	r.world, err = world.New(world.Config{
		Seed: seed, Load: load, Resources: workloadmodel.Resources{CPURequestMilli: float64(request)},
		Profile:    s.profile(s.podNoise, false),
		ProfileOf:  r.profileOf,
		StartAfter: toRun, ReadyAfter: toBeReady - toRun, Replicas: podsAtFirst, Groups: nodeCount,
	})
	if err != nil {
		return nil, loop.Config{}, fmt.Errorf("world of %s: %w", s.name, err)
	}
	r.world.OnSecond(r.second)
	return r, loop.Config{Requests: []metric.Request{{Milli: request}}, World: r.world, Seed: seed, OnDecision: r.note},
		nil
}

// policyWith is the controller's with its defaults but for the surge window.
func (s *scenario) policyWith(window surge.Settings) horizontal.Policy {
	spec := source.Spec{
		Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.Utilization, Percent: targetPercent},
	}
	if s.ratePerPod > 0 {
		spec = source.Spec{
			Type: source.PodEndpoint, Name: "requests", IsRate: true,
			Target: source.Target{Type: source.AverageValue, Milli: int64(s.ratePerPod * 1000)},
		}
	}
	return horizontal.Policy{
		Namespace: "shop", MinReplicas: 1, MaxReplicas: maxReplicas,
		Metrics:                 []source.Spec{spec},
		Tolerance:               metric.Tolerance{Up: 0.1, Down: 0.1},
		DownscaleStabilization:  5 * time.Minute,
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
		Surge: window, Divergences: divergence.Default,
	}
}

// play plays the scenario to its end.
func (r *run) play() outcome {
	end := warmUp + r.scenario.lasts
	for r.world.Now() < end {
		next, isChange := min(end, r.loop.Next()), false
		later, _ := slices.BinarySearch(r.changes, r.world.Now()+1)
		if later < len(r.changes) && r.changes[later] <= next {
			next, isChange = r.changes[later], true
		}
		r.world.AdvanceTo(next)
		if isChange {
			for _, p := range r.world.Pods() {
				p.SetProfile(r.profileOf(p))
			}
		}
		if next == r.loop.Next() {
			r.loop.Act()
		}
	}
	return r.seen
}

// second adds up the pods.
func (r *run) second() {
	now, pods := r.world.Now(), len(r.world.Pods())
	if now > warmUp {
		r.seen.podHours += time.Second.Hours() * float64(pods)
		r.seen.excessPodHours += time.Second.Hours() * float64(max(0, pods-r.scenario.needed(now > r.surgeAt)))
	}
}

// note keeps when more was wanted.
func (r *run) note(_ *horizontal.Observation, d *horizontal.Decision) {
	now := r.world.Now()
	if now < warmUp {
		return
	}
	if d.Surge.Asks() {
		r.seen.asked++
	}
	if d.Surge.Verdict == surge.TooFewEvents {
		r.above++
	}
	if d.Rescale {
		r.seen.actions++
	}
	r.seen.most = max(r.seen.most, d.Desired)
	if r.scenario.surge == 0 || now < r.surgeAt {
		return
	}
	since := (now - r.surgeAt).Seconds()
	if math.IsNaN(r.seen.firstUp) && d.Desired > podsAtFirst {
		r.seen.firstUp = since
	}
	if math.IsNaN(r.seen.nearUp) && float64(d.Desired) >= nearly*podsAtFirst*r.scenario.surge {
		r.seen.nearUp = since
	}
}

// nearly is the part of what a surge takes that counts as reached.
const nearly = 0.9

// profile is how a pod behaves. With one pod hot for good, the others use so much less
// that all together are at their target.
func (s *scenario) profile(noise float64, isHot bool) workloadmodel.Profile {
	profile := workloadmodel.DefaultProfile()
	profile.IdleCPUMilli, profile.CPUPerRequestMilliCoreSeconds, profile.Noise = 0, requestCostMilliS, noise
	profile.StartupCPUMilli, profile.Startup = startupMilli, toBeReady-toRun
	if s.work.afterReady > 0 {
		profile.StartupCPUMilli, profile.Startup = s.work.milli, toBeReady-toRun+s.work.afterReady
	}
	if s.hot > 0 && !s.hotAtTimes {
		profile.CPUPerRequestMilliCoreSeconds *= podsAtFirst / (podsAtFirst - 1 + s.hot)
	}
	if isHot {
		profile.CPUPerRequestMilliCoreSeconds *= s.hot
	}
	return profile
}

// profileOf is how a pod behaves now. The noise begins after the warm-up, so that
// whatever the first averages are, the count is right then.
func (r *run) profileOf(p *world.Pod) workloadmodel.Profile {
	now, noise := r.now(), 0.0
	if now >= warmUp {
		noise = r.scenario.podNoise
	}
	profile := r.scenario.profile(noise, isWithin(r.hot, now) && p.Number == 0)
	if isWithin(r.working, now) {
		profile.IdleCPUMilli += r.scenario.work.milli
	}
	return profile
}

// isWithin reports whether now is between an even time and the odd one after it.
func isWithin(times []time.Duration, now time.Duration) bool {
	begun, _ := slices.BinarySearch(times, now+1)
	return begun%2 == 1
}

// now is 0 while the world is being made.
func (r *run) now() time.Duration {
	if r.world == nil {
		return 0
	}
	return r.world.Now()
}
