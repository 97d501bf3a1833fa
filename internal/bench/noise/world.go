package noise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/sim"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// How the world goes: what the controller's defaults are, and pods that are ready
// three seconds after somebody asks for them.
const (
	scrapePeriod = time.Second
	scrapeJitter = 20 * time.Millisecond
	urgentGap    = 200 * time.Millisecond
	decideAfter  = 200 * time.Millisecond
	nodeCount    = 3
	toRun        = time.Second
	toBeReady    = 3 * time.Second
	startupMilli = 300
	maxReplicas  = 400
)

// pod is one of the target's.
type pod struct {
	name    string
	node    int
	created time.Duration
	// model is nil until the pod runs.
	model *sim.Pod
	ready bool
	meter meter
}

// node is one whose kubelet is scraped.
type node struct {
	phase time.Duration
	round int
	last  time.Duration
	next  time.Duration
}

// world is one run of a scenario.
type world struct {
	scenario *scenario
	seed     uint64
	now      time.Duration
	surgeAt  time.Duration
	hot      []time.Duration

	model    *sim.Model
	workload *sim.Workload
	pods     []*pod
	born     int
	nodes    [nodeCount]node

	policy      horizontal.Policy
	state       horizontal.State
	observation horizontal.Observation
	suspects    []int
	// decideAt is when the next decision is due; 0 if nothing is known that the last
	// one did not see.
	decideAt time.Duration

	seen outcome
}

// outcome is what a run came to.
type outcome struct {
	// actions are scale writes, asked decisions in which the surge window asked.
	actions, asked int
	podHours       float64
	// firstUp and nearUp are how long after the surge began more was wanted than
	// before, and nine tenths of what it takes; NaN if that was never so.
	firstUp, nearUp float64
	// most is the largest count that was wanted.
	most int32
}

func newWorld(s *scenario, seed uint64, window surge.Settings) (*world, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	w := &world{
		scenario: s, seed: seed, model: sim.New(seed), surgeAt: warmUp + time.Duration(random.Int64N(int64(3*time.Second))),
		policy: horizontal.Policy{
			Namespace: "shop", MinReplicas: 1, MaxReplicas: maxReplicas,
			Metrics: []metric.Spec{{
				Type: metric.Resource, Name: metric.CPU, Target: metric.Target{Type: metric.Utilization, Percent: targetPercent},
			}},
			Tolerance:               metric.Tolerance{Up: 0.1, Down: 0.1},
			DownscaleStabilization:  5 * time.Minute,
			CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second,
			Surge: window, Divergences: divergence.Default,
		},
		seen: outcome{firstUp: math.NaN(), nearUp: math.NaN()},
	}
	w.observation.Target.SpecReplicas = podsAtFirst
	w.workload = w.model.AddWorkload("web")
	load, err := s.load(random, w.surgeAt)
	if err != nil {
		return nil, fmt.Errorf("load of %s: %w", s.name, err)
	}
	w.model.SetLoad(w.workload, load)
	w.hot = s.heat(random)
	for i := range w.nodes {
		if !s.aligned() {
			w.nodes[i].phase = time.Duration(random.Int64N(int64(scrapePeriod)))
		}
		w.nodes[i].next = w.nodes[i].phase
	}
	for range podsAtFirst {
		w.add(-time.Hour)
		w.grow(w.pods[len(w.pods)-1])
	}
	return w, nil
}

// run plays the scenario to its end.
func (w *world) run() outcome {
	end := warmUp + w.scenario.lasts
	for w.now < end {
		w.advance(min(end, w.nextEvent()))
		for _, p := range w.pods {
			w.grow(p)
		}
		w.heatUp()
		for i := range w.nodes {
			if w.nodes[i].next <= w.now {
				w.scrape(i)
			}
		}
		if w.decideAt > 0 && w.decideAt <= w.now {
			w.decide()
		}
	}
	return w.seen
}

// nextEvent is when something happens next. The model draws its noise anew at each
// whole second.
func (w *world) nextEvent() time.Duration {
	next := w.now.Truncate(time.Second) + time.Second
	for i := range w.nodes {
		next = min(next, w.nodes[i].next)
	}
	if w.decideAt > 0 {
		next = min(next, w.decideAt)
	}
	for _, at := range w.hot {
		if at > w.now {
			next = min(next, at)
		}
	}
	for _, p := range w.pods {
		for _, at := range [...]time.Duration{p.created + toRun, p.created + toBeReady} {
			if at > w.now {
				next = min(next, at)
			}
		}
	}
	return next
}

func (w *world) advance(to time.Duration) {
	if to <= w.now {
		return
	}
	if from := max(w.now, warmUp); to > from {
		w.seen.podHours += (to - from).Hours() * float64(len(w.pods))
	}
	w.model.Advance(to - w.now)
	w.now = to
}

// add creates a pod.
func (w *world) add(created time.Duration) {
	w.pods = append(w.pods, &pod{name: fmt.Sprintf("web-%d", w.born), node: w.born % nodeCount, created: created})
	w.born++
}

// grow lets a pod run and become ready when it is time.
func (w *world) grow(p *pod) {
	if p.ready {
		return
	}
	age := w.now - p.created
	if p.model == nil && age >= toRun {
		p.model = w.model.AddPod(sim.PodConfig{Name: p.name, Profile: w.profile(p), Age: age - toRun})
		p.model.SetWorkload(w.workload)
	}
	if age >= toBeReady {
		p.ready = true
		p.model.SetReady(true)
	}
}

// profile is how a pod behaves now. With one pod hot for good, the others use so
// much less that all together are at their target.
func (w *world) profile(p *pod) sim.Profile {
	s := w.scenario
	profile := sim.DefaultProfile()
	profile.IdleCPUMilli, profile.CPUPerRequestMilliCoreSeconds, profile.Noise = 0, requestCostMilliS, s.podNoise
	profile.StartupCPUMilli, profile.Startup = startupMilli, toBeReady-toRun
	isHot := p == w.pods[0] && w.isHot()
	if s.hot > 0 && !s.hotAtTimes {
		profile.CPUPerRequestMilliCoreSeconds *= podsAtFirst / (podsAtFirst - 1 + s.hot)
	}
	if isHot {
		profile.CPUPerRequestMilliCoreSeconds *= s.hot
	}
	return profile
}

func (w *world) isHot() bool {
	for i := 0; i+1 < len(w.hot); i += 2 {
		if w.now >= w.hot[i] && w.now < w.hot[i+1] {
			return true
		}
	}
	return false
}

func (w *world) heatUp() {
	if w.scenario.hotAtTimes {
		w.pods[0].model.SetProfile(w.profile(w.pods[0]))
	}
}
