package podusage

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// AgentPeriod is how often each agent is asked, unless something else is configured.
	AgentPeriod = 250 * time.Millisecond
	// agentGrace is for how long an agent may be silent before its node's kubelet stands in, gracePeriods how many periods
	// that is at least.
	agentGrace   = 1500 * time.Millisecond
	gracePeriods = 3
	// agentWait is for how long an agent is waited for that is not asked, as the budget has no room for it. With a
	// kubelet's defaults its own samples are older.
	agentWait = 5 * time.Second
	// agentBackoff is how long an agent that fails is left alone at most. Where the pods of a node take all of its CPU,
	// an agent may miss an answer or two: left alone for longer, it would miss the load itself.
	agentBackoff = time.Second
	// agentsPeriod is how often it is looked at which nodes have agents.
	agentsPeriod = time.Second
	// agentStretch is how many times less often a kubelet is asked while the agent of its node answers.
	// Its samples are kept, so that it can stand in at once, and are seldom newer than this.
	agentStretch = 5
	// forgetAfter is for how long the containers of a pod are asked for that nobody has looked at.
	forgetAfter = time.Minute
)

// Agents are asked before kubelets. A kubelet stands in where its node has no agent, where the agent
// does not answer, and for pods of which it does not know all containers.
type Agents struct {
	// Scraper makes what asks agents and puts their answers into the store.
	Scraper func(store *rate.Store) (AgentScraper, error)
	// Find is where a node's agent listens; false if it has none.
	Find func(node string) (address string, found bool)
	// Run, if it is not nil, does what the others need until ctx ends.
	Run func(ctx context.Context)
	// Rounds has the budget, and the period if it is not AgentPeriod.
	Rounds scrape.Config[kubelet.Target]
}

// AgentScraper asks one agent for the selected containers.
type AgentScraper interface {
	Scrape(ctx context.Context, target kubelet.Target, wanted *selection.Prepared) (rate.Round, error)
	// Contention is the answer about CPU that they did not get, as a kubelet's /metrics/cadvisor has it.
	Contention(ctx context.Context, target kubelet.Target, wanted *selection.Prepared) ([]byte, error)
	Forget(node string)
}

// agents are the agents of a session's nodes.
type agents struct {
	config  *Agents
	session *session
	store   *rate.Store
	scraper AgentScraper
	rounds  *scrape.Rounds[kubelet.Target]
	// grace is for how long an agent may be silent.
	grace time.Duration

	// mu guards the following.
	mu sync.Mutex
	// wanted are the pods of each node with an agent that somebody has looked at.
	wanted map[string]*wantedPods
	// heard is when each agent last answered with something new, asked when it was asked for the first time since, answers
	// whether its samples are used.
	heard, asked map[string]time.Time
	answers      map[string]bool
}

// wantedPods are those of one node.
type wantedPods struct {
	pods map[podName]*wantedPod
	// prepared is the selection of their containers; nil if it is another one by now.
	prepared *selection.Prepared
	// lacked is when somebody looked last at a ready pod that the agent does not know.
	lacked time.Time
}

type podName struct{ namespace, name string }

// wantedPod is one, and when it was last looked at.
type wantedPod struct {
	running *observe.Running
	looked  time.Time
}

func newAgents(config *Agents, s *session) (*agents, error) {
	a := &agents{
		config: config, session: s,
		store:  rate.New(rate.Config{Span: averaging.Reach, MaxAge: maxAge}),
		wanted: map[string]*wantedPods{}, heard: map[string]time.Time{}, asked: map[string]time.Time{},
		answers: map[string]bool{},
	}
	rounds := config.Rounds
	rounds.Scrape, rounds.Forget, rounds.Changed = a.scrape, a.forget, a.changed
	if rounds.Period == 0 {
		rounds.Period = AgentPeriod
	}
	if rounds.MaxBackoff == 0 {
		rounds.MaxBackoff = max(agentBackoff, rounds.Period)
	}
	a.grace = max(agentGrace, gracePeriods*rounds.Period)
	var err error
	if a.rounds, err = scrape.New(rounds); err != nil {
		return nil, fmt.Errorf("agents of nodes: %w", err)
	}
	if a.scraper, err = config.Scraper(a.store); err != nil {
		return nil, fmt.Errorf("agents of nodes: %w", err)
	}
	return a, nil
}

// run asks agents until ctx ends.
func (a *agents) run(ctx context.Context) {
	var running sync.WaitGroup
	defer func() {
		running.Wait()
		a.end()
	}()
	running.Go(func() { a.rounds.Run(ctx) })
	if a.config.Run != nil {
		running.Go(func() { a.config.Run(ctx) })
	}
	for ctx.Err() == nil {
		a.choose()
		a.judge(time.Now())
		_ = timing.Pause(ctx, agentsPeriod/4) // The loop's condition ends it.
	}
}

// end forgets all agents. Others have the same connections, and would keep this session's samples with them.
func (a *agents) end() {
	a.mu.Lock()
	nodes := slices.Collect(maps.Keys(a.wanted))
	a.mu.Unlock()
	for _, node := range nodes {
		a.scraper.Forget(node)
	}
}

// choose makes the agents of the nodes that are wanted now those that are asked.
func (a *agents) choose() {
	var targets []kubelet.Target
	for _, node := range a.session.watch.Nodes(nil) {
		if address, found := a.config.Find(node); found {
			targets = append(targets, kubelet.Target{Node: node, Address: address})
		}
	}
	a.mu.Lock()
	before := a.wanted
	a.wanted = make(map[string]*wantedPods, len(targets))
	for i := range targets {
		node := targets[i].Node
		if a.wanted[node] = before[node]; a.wanted[node] == nil {
			a.wanted[node] = &wantedPods{pods: map[podName]*wantedPod{}}
		}
	}
	a.mu.Unlock()
	a.rounds.Set(targets)
}

// judge notes which agents answer. Where one ceases to, its node's kubelet is asked at once.
func (a *agents) judge(now time.Time) {
	var began, ended []string
	a.mu.Lock()
	for node := range a.heard {
		answers := a.isHeard(node, now)
		switch {
		case answers && !a.answers[node]:
			began = append(began, node)
		case !answers && a.answers[node]:
			ended = append(ended, node)
		}
		if !answers {
			delete(a.heard, node)
			delete(a.asked, node)
			delete(a.answers, node)
			continue
		}
		a.answers[node] = true
	}
	count := len(a.answers)
	a.mu.Unlock()
	log := a.session.source.config.Log
	a.session.source.metrics.agents.Set(float64(count))
	for _, node := range began {
		log.Info("resource metrics of a node come from its agent", "node", node)
	}
	for _, node := range ended {
		why := "it is not asked any more"
		if state, isAsked := a.rounds.State(node); isAsked && state.LastError != nil {
			why = state.LastError.Error()
		}
		log.Info("resource metrics of a node come from its kubelet: the agent does not answer", "node", node, "why", why)
	}
	a.session.rounds.Urgent(ended...)
}

// changed says when a node's agent begins or ceases to fail.
func (a *agents) changed(state scrape.State[kubelet.Target]) {
	log := a.session.source.config.Log.WithValues("node", state.Target.Node)
	if state.IsFailing() {
		log.Info("the agent of a node cannot be asked", "why", state.LastError.Error())
		return
	}
	log.Info("the agent of a node can be asked again")
}

// isAnswering reports whether the agent's samples may be used.
func (a *agents) isAnswering(node string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.isHeard(node, now)
}

// isHeard needs the lock. An agent that is not asked, as the budget has no room for it, is not silent.
func (a *agents) isHeard(node string, now time.Time) bool {
	last, isHeard := a.heard[node]
	if asked := a.asked[node]; asked.After(last) {
		return isHeard && now.Sub(asked) <= a.grace && now.Sub(last) <= a.grace+agentWait
	}
	return isHeard && now.Sub(last) <= max(a.grace, agentWait)
}

// want has a pod's containers asked for, and reports whether the agent of its node answers.
func (a *agents) want(now time.Time, pod *observe.Pod) (answers bool) {
	node := pod.Node()
	name := podName{pod.Namespace(), pod.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.wanted[node]
	if of == nil || pod.Running == nil {
		return of != nil && a.isHeard(node, now)
	}
	known := of.pods[name]
	if known == nil {
		known = &wantedPod{}
		of.pods[name] = known
	}
	known.looked = now
	if known.running != pod.Running && !known.running.Equal(pod.Running) {
		of.prepared = nil
	}
	known.running = pod.Running
	return a.isHeard(node, now)
}

// selected is what the agent of a node is to be asked for; nil for nothing.
func (a *agents) selected(node string, now time.Time) *selection.Prepared {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.wanted[node]
	if of == nil {
		return nil
	}
	for name, pod := range of.pods {
		if now.Sub(pod.looked) > forgetAfter {
			delete(of.pods, name)
			of.prepared = nil
		}
	}
	if len(of.pods) == 0 {
		return nil
	}
	if of.prepared == nil {
		of.prepared = selection.Prepare(of.containers())
	}
	return of.prepared
}

// containers are those of all pods, as many as an agent takes.
func (w *wantedPods) containers() []selection.Container {
	var all []selection.Container
	left := selection.MaxBytes
	for name, pod := range w.pods {
		for _, c := range pod.running.Containers {
			wanted := selection.Container{
				PodUID: pod.running.PodUID, ID: c.ID, Namespace: name.namespace, Pod: name.name, Name: c.Name,
			}
			if left -= wanted.Bytes(); len(all) == selection.MaxContainers || left < 0 {
				return all
			}
			if wanted.IsValid() {
				all = append(all, wanted)
			}
		}
	}
	return all
}

// scrape asks one agent, if there is something to ask it for.
func (a *agents) scrape(ctx context.Context, target kubelet.Target) (cpu time.Duration, err error) {
	wanted := a.selected(target.Node, time.Now())
	if wanted == nil {
		return 0, nil
	}
	a.asks(target.Node, time.Now())
	round, err := a.ask(ctx, target, wanted)
	if ctx.Err() != nil {
		return round.CPU, err
	}
	a.session.source.metrics.agentScraped(err)
	if err != nil || round.Fresh == 0 {
		return round.CPU, err
	}
	now := time.Now()
	a.mu.Lock()
	told := Sampled{Node: target.Node, At: now, Before: a.heard[target.Node]}
	a.heard[target.Node] = now
	a.mu.Unlock()
	a.session.sampled(told, a.store)
	return round.CPU, nil
}

// asks notes that an agent is asked.
func (a *agents) asks(node string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, isHeard := a.heard[node]; isHeard && !a.asked[node].After(last) {
		a.asked[node] = now
	}
}

// ask asks one agent. Reading what a stranger sent must not end the process.
func (a *agents) ask(
	ctx context.Context, target kubelet.Target, wanted *selection.Prepared,
) (round rate.Round, err error) {
	defer func() {
		if r := recover(); r != nil {
			a.session.source.config.Log.Error(fmt.Errorf("panic: %v", r), "reading an agent failed", "node", target.Node,
				"stack", string(debug.Stack()))
			round, err = rate.Round{}, fmt.Errorf("agent of node %s: reading its answer failed: %v", target.Node, r)
		}
	}()
	return a.scraper.Scrape(ctx, target, wanted)
}

func (a *agents) forget(target kubelet.Target) {
	a.scraper.Forget(target.Node)
	a.store.Forget(target.Node)
}
