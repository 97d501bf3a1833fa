package world

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/startup"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Epoch is the time at which virtual time begins, unless a world has another: a minute before
// midnight, when loads without a time of their own begin.
var Epoch = time.Date(2025, 12, 31, 23, 59, 0, 0, time.UTC)

// settled is how long pods have been there that are there at the beginning: longer
// than any initialization period.
const settled = time.Hour

// Config describes a world.
type Config struct {
	Seed uint64
	// Epoch is the time at which virtual time begins; Epoch if it is zero.
	Epoch time.Time
	// Load are the requests.
	Load workloadmodel.Shape
	// Container is the name of the container that serves, Resources and Profile are its. Sidecars are the pod's other
	// containers.
	Container string
	Resources workloadmodel.Resources
	Profile   workloadmodel.Profile
	Sidecars  []Sidecar
	// Work is the work that pods do besides their part of the load.
	Work []Work
	// Rollouts are when all pods begin to be replaced, in the order of time.
	Rollouts []time.Duration
	// StartAfter is from a pod's place on a node until it runs, ReadyAfter from there
	// until it is ready.
	StartAfter, ReadyAfter time.Duration
	// Grace is how long a pod that is to go may take at most, the hook before it is told to stop
	// included, which takes PreStop. StopAfter is from when nothing waits in it until it is gone.
	Grace, PreStop, StopAfter time.Duration
	// Replicas are ready at the beginning.
	Replicas int32
	// Groups are how many groups the kubelets are asked in.
	Groups int
	// Housekeeping is the kubelets' --housekeeping-interval; with 0, each scrape samples anew.
	Housekeeping time.Duration
	// Outages are when nodes do not answer. ClockOffsets are how far the clocks of the groups' nodes are ahead, the first
	// group's first; those of other groups are right.
	Outages      []Outage
	ClockOffsets []time.Duration
	Supply       Supply
	// IsQueue says that requests wait in one queue, which loses none, instead of in the pods.
	IsQueue bool
}

// World is a workload and its pods.
type World struct {
	config Config
	now    time.Duration

	model    *workloadmodel.Model
	workload *workloadmodel.Workload

	// pods are in the order of their creation, those that are to go among them; want is
	// how many there shall be without them.
	pods []*Pod
	want int32
	born int
	// starting run or become ready yet, leaving have not gone yet; waiting is how many
	// may have no node.
	starting, leaving []*Pod
	waiting           int
	nodes             []*node
	nodesBorn         int
	ordered           []time.Duration
	housekeeping      housekeeping
	rollout           rollout
	// changed says that a pod came, ran, became ready or went since Changed was asked.
	changed bool
	// startUps are the last times that pods took to become ready.
	startUps startup.Times
	// eachSecond is called after every whole second.
	eachSecond func()
}

func (c *Config) validate() error {
	if err := c.Profile.Validate(); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	if c.Load == nil || c.Replicas < 0 || c.StartAfter < 0 || c.ReadyAfter < 0 || c.Grace < 0 ||
		c.PreStop < 0 || c.StopAfter < 0 || c.Housekeeping < 0 {
		return errors.New("a world needs a load, and no count or time of it may be negative")
	}
	for i := range c.Work {
		if err := c.Work[i].Validate(); err != nil {
			return fmt.Errorf("work %d of pods: %w", i, err)
		}
	}
	return nil
}

// New is a world at time 0.
func New(c Config) (*World, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.Groups = max(1, c.Groups)
	if c.Epoch.IsZero() {
		c.Epoch = Epoch
	}
	w := &World{
		config: c, model: workloadmodel.New(c.Seed), rollout: rollout{due: c.Rollouts},
		housekeeping: housekeeping{interval: c.Housekeeping, seed: c.Seed, next: never},
	}
	w.workload = w.model.AddWorkload("workload")
	w.workload.SetQueue(c.IsQueue)
	w.model.SetLoad(w.workload, c.Load)
	for range c.Supply.Nodes {
		w.addNode()
	}
	w.Scale(c.Replicas)
	for _, p := range w.pods {
		if !p.IsPlaced {
			return nil, fmt.Errorf("%d nodes have no room for the %d replicas at the beginning", c.Supply.Nodes, c.Replicas)
		}
		p.Created, p.Placed = p.Created-settled, p.Placed-settled
		p.Running, p.Ready = p.Running-settled, p.Ready-settled
	}
	w.grow()
	w.changed = false
	return w, nil
}

// OnSecond sets the function that is called after every whole second.
func (w *World) OnSecond(tell func()) { w.eachSecond = tell }

// Now is the virtual time.
func (w *World) Now() time.Duration { return w.now }

// Time is a virtual time as a date.
func (w *World) Time(at time.Duration) time.Time { return w.config.Epoch.Add(at) }

// Epoch is the time at which virtual time begins.
func (w *World) Epoch() time.Time { return w.config.Epoch }

// StartUp is how long pods of a world take from their creation until they are ready.
func StartUp(w *World) time.Duration { return w.startUps.Percentile90(w.Time(w.now)) }

// Pods are all pods, those that are to go included. They are read only.
func (w *World) Pods() []*Pod { return w.pods }

// Replicas are how many pods there shall be.
func (w *World) Replicas() int32 { return w.want }

// Nodes are how many nodes there are; 0 where they do not matter.
func (w *World) Nodes() int { return len(w.nodes) }

// Groups are how many groups the kubelets are asked in.
func (w *World) Groups() int { return w.config.Groups }

// Stats are the workload's.
func (w *World) Stats() workloadmodel.WorkloadStats { return w.workload.Stats() }

// Changed reports whether a pod came, ran, became ready or went since the last time
// that it was asked.
func (w *World) Changed() bool {
	changed := w.changed
	w.changed = false
	return changed
}

// AdvanceTo lets time pass, in steps of a second at most.
func (w *World) AdvanceTo(to time.Duration) {
	for w.now < to {
		next := min(to, w.nextEvent())
		w.model.Advance(next - w.now)
		w.now = next
		w.housekeeping.sample(w.pods, w.now)
		w.supply()
		w.place()
		w.grow()
		w.rollout.goOn(w)
		w.leave()
		if w.now%time.Second != 0 {
			continue
		}
		if w.eachSecond != nil {
			w.eachSecond()
		}
		beginWork(w)
	}
}

// nextEvent is when something happens next, a new second at the latest.
func (w *World) nextEvent() time.Duration {
	next := min(w.now.Truncate(time.Second)+time.Second, max(w.housekeeping.next, w.now+1))
	for _, p := range w.starting {
		at := p.Ready
		if !p.IsRunning {
			at = p.Running
		}
		next = min(next, max(at, w.now+1))
	}
	for _, p := range w.leaving {
		next = min(next, max(p.goesAt(&w.config), w.now+1))
	}
	if len(w.ordered) > 0 {
		next = min(next, max(w.ordered[0], w.now+1))
	}
	return next
}

// Scale says how many pods there shall be. During a rollout there may be more of them.
func (w *World) Scale(replicas int32) {
	w.want = replicas
	present := w.rollout.count(w.pods).present
	for ; present < replicas; present++ {
		create(w)
	}
	for ; present > replicas+w.rollout.surge(replicas); present-- {
		w.remove(func(*Pod) bool { return true })
	}
	w.place()
}

func create(w *World) {
	p := &Pod{
		Name: fmt.Sprintf("workload-%d", w.born), Number: w.born, Group: w.born % w.config.Groups, Created: w.now,
		Ready: math.MaxInt64,
	}
	if p.Group < len(w.config.ClockOffsets) {
		p.ClockOffset = w.config.ClockOffsets[p.Group]
	}
	w.pods = append(w.pods, p)
	w.born++
	w.waiting++
	w.changed = true
}

// remove lets that of the candidates go that a ReplicaSet would choose.
func (w *World) remove(isCandidate func(p *Pod) bool) {
	var first *Pod
	for _, p := range w.pods {
		if !p.Deleting && isCandidate(p) && (first == nil || p.goesBefore(first)) {
			first = p
		}
	}
	first.Deleting, first.DeletedAt = true, w.now
	w.changed = true
	if first.model != nil {
		first.model.SetReady(false)
	}
	first.drain(w.now)
	w.leaving = append(w.leaving, first)
}

// grow lets pods run and become ready when it is time.
func (w *World) grow() {
	w.starting = slices.DeleteFunc(w.starting, func(p *Pod) bool {
		if p.Deleting {
			return true
		}
		if !p.IsRunning && p.Running <= w.now {
			w.run(p)
		}
		if p.IsRunning && p.Ready <= w.now {
			p.IsReady = true
			w.startUps.Add(w.Time(p.Ready), p.Ready-p.Created)
			p.model.SetReady(true)
			w.changed = true
		}
		return p.IsReady
	})
}

func (w *World) run(p *Pod) {
	w.begin(p)
	p.IsRunning = true
	w.changed = true
}

func (w *World) leave() {
	if len(w.leaving) == 0 {
		return
	}
	w.leaving = slices.DeleteFunc(w.leaving, func(p *Pod) bool {
		if p.drain(w.now); w.now < p.goesAt(&w.config) {
			return false
		}
		for k := range p.Containers {
			w.model.RemovePod(p.Containers[k].model)
		}
		w.vacate(p)
		w.pods = slices.DeleteFunc(w.pods, func(other *Pod) bool { return other == p })
		w.changed = true
		return true
	})
	w.place()
}
