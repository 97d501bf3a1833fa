package podusage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// AgentPeriod is the default period between two scrapes of an agent.
	AgentPeriod = 250 * time.Millisecond
	// The kubelet of a node replaces an agent that has been silent for agentGrace, or for gracePeriods periods if that is
	// longer.
	agentGrace   = 1500 * time.Millisecond
	gracePeriods = 3
	// agentWait replaces agentGrace for an agent that the budget leaves unscraped. With a kubelet's defaults its own
	// samples are older.
	agentWait = 5 * time.Second
	// agentBackoff is the longest pause before an agent that fails is scraped again. Where the pods of a node take all of
	// its CPU, an agent may miss a response or two: after a longer pause, it would miss the load itself.
	agentBackoff = time.Second
	// agentsPeriod is the period at which the agents of the nodes are resolved again and their health is updated.
	agentsPeriod = 250 * time.Millisecond
	// agentStretch multiplies the period of a kubelet while the agent of its node responds. Its samples are kept, so that
	// it can replace the agent at once; they are seldom newer than this.
	agentStretch = 5
	// After a ready pod was missing from the agent, its kubelet is scraped as often as without an agent for missingFor. An
	// object whose kubelets are scraped every second is decided as often.
	missingFor = 5 * time.Second
)

// Agents configures the agents of nodes, which are scraped before kubelets. The kubelet replaces the agent on a node
// without one, on a node whose agent does not respond, and for each pod of which the agent lacks a container.
type Agents struct {
	// Scraper makes the scraper of agents for one subscription, which fills the store.
	Scraper func(store *rate.Store) (AgentScraper, error)
	// Find returns the address of a node's agent, and false if the node has none.
	Find func(node string) (address string, found bool)
	// Run, if it is not nil, runs in the background until ctx ends, for the other functions.
	Run func(ctx context.Context)
	// Rounds configures the budget of a subscription, and the period of subscriptions without one. The default is
	// AgentPeriod.
	Rounds scrape.Config[kubelet.Target]
}

// AgentScraper scrapes agents.
type AgentScraper interface {
	Scraper
	// Contention returns counters of CPU throttling and pressure in the format of a kubelet's /metrics/cadvisor.
	Contention(ctx context.Context, target kubelet.Target, selected *selection.Prepared) ([]byte, error)
	Forget(node string)
}

// agents scrapes the agents of nodes for one subscription while a session lasts.
type agents struct {
	origin
	config       *Agents
	subscription *Subscription
	// scrapeKubelets scrapes the kubelets of nodes at once. usedChanged is called when the set of agents whose samples are
	// used changes.
	scrapeKubelets func(nodes ...string)
	usedChanged    func()
	contentions    AgentScraper
	// grace is the longest silence of an agent whose samples are still used.
	grace time.Duration
}

func newAgents(
	service *Service, of *Subscription, scrapeKubelets func(nodes ...string), usedChanged func(),
) (*agents, error) {
	only, config := []*Subscription{of}, service.config.Agents
	a := &agents{
		config: config, subscription: of, scrapeKubelets: scrapeKubelets, usedChanged: usedChanged,
		origin: origin{
			name: "agent", log: service.config.Log,
			store:    rate.New(rate.Config{Span: averaging.Reach, MaxAge: maxAge}),
			selected: of.wanted.selected, subscribers: func(string) []*Subscription { return only },
			count: service.metrics.agentScraped,
		},
	}
	rounds := config.Rounds
	rounds.Forget = a.forget
	if of.cadence.Agents > 0 {
		rounds.Period = of.cadence.Agents
	}
	if rounds.Period == 0 {
		rounds.Period = AgentPeriod
	}
	if rounds.MaxBackoff == 0 {
		rounds.MaxBackoff = max(agentBackoff, rounds.Period)
	}
	a.grace = max(agentGrace, gracePeriods*rounds.Period)
	if err := a.begin(rounds); err != nil {
		return nil, fmt.Errorf("agents of nodes: %w", err)
	}
	var err error
	if a.contentions, err = config.Scraper(a.store); err != nil {
		return nil, fmt.Errorf("agents of nodes: %w", err)
	}
	a.scraper = a.contentions
	return a, nil
}

func (a *agents) run(ctx context.Context) {
	var running sync.WaitGroup
	defer func() {
		running.Wait()
		// The client of agents outlives the session, and would keep its samples.
		a.rounds.Set(nil)
	}()
	running.Go(func() { a.rounds.Run(ctx) })
	for ctx.Err() == nil {
		a.choose()
		a.updateHealth(time.Now())
		_ = timing.Pause(ctx, agentsPeriod) // The loop's condition ends it.
	}
}

// choose sets the targets: the agents of the nodes that are wanted now.
func (a *agents) choose() {
	var targets []kubelet.Target
	for _, node := range a.subscription.appendNodes(nil) {
		if address, found := a.config.Find(node); found {
			targets = append(targets, kubelet.Target{Node: node, Address: address})
		}
	}
	a.rounds.Set(targets)
}

// forget keeps the freshness: updateHealth drops it, and logs that the agent no longer responds.
func (a *agents) forget(target kubelet.Target) {
	a.contentions.Forget(target.Node)
	a.store.Forget(target.Node)
}

// updateHealth switches nodes between agent and kubelet. It scrapes a node's kubelet at once when its agent fails.
func (a *agents) updateHealth(now time.Time) {
	var began, ended []string
	a.mu.Lock()
	for node, f := range a.fresh {
		responds := a.isFresh(&f, now)
		switch {
		case !responds:
			if f.isUsed {
				ended = append(ended, node)
			}
			delete(a.fresh, node)
		case !f.isUsed:
			began = append(began, node)
			f.isUsed = true
			a.fresh[node] = f
		}
	}
	a.mu.Unlock()
	for _, node := range began {
		a.log.Info("resource metrics of a node come from its agent", "node", node)
	}
	for _, node := range ended {
		err := errNotScraped
		if state, isTarget := a.rounds.State(node); isTarget && state.LastError != nil {
			err = state.LastError
		}
		a.log.Info("resource metrics of a node come from its kubelet: its agent does not respond", "node", node, "err",
			err.Error())
	}
	if len(began)+len(ended) > 0 {
		a.usedChanged()
	}
	a.scrapeKubelets(ended...)
}

var (
	errNotScraped = errors.New("it is no longer scraped")
	// errNotYet is the error of an agent without a finished scrape.
	errNotYet = errors.New("no response yet")
)

// isFresh reports whether an agent's samples may be used. An agent that the budget leaves unscraped does not count as
// silent.
func (a *agents) isFresh(f *freshness, now time.Time) bool {
	if f.requested.After(f.last) {
		return now.Sub(f.requested) <= a.grace && now.Sub(f.last) <= a.grace+agentWait
	}
	return now.Sub(f.last) <= max(a.grace, agentWait)
}

func (a *agents) isHealthy(node string, now time.Time) bool {
	f, ok := a.freshness(node)
	return ok && a.isFresh(&f, now)
}

// silence returns the error of an agent that does not respond; nil if it responds, or if the node has none.
func (a *agents) silence(node string, now time.Time) error {
	state, isTarget := a.rounds.State(node)
	switch {
	case !isTarget || a.isHealthy(node, now):
		return nil
	case state.LastError != nil:
		return state.LastError
	}
	return errNotYet
}

// coversNode reports whether the agent's samples are used and suffice for all ready pods.
func (a *agents) coversNode(node string, now time.Time) bool {
	return a != nil && a.isHealthy(node, now) && now.Sub(a.subscription.wanted.lastMissing(node)) > missingFor
}

// uncovered returns the nodes for which agents are not enough.
func (a *agents) uncovered(nodes []string, now time.Time) []string {
	if a == nil {
		return nodes
	}
	var left []string
	for _, node := range nodes {
		if !a.coversNode(node, now) {
			left = append(left, node)
		}
	}
	return left
}

// reportMissingPod records that a responding agent lacks a pod. It scrapes the node's kubelet at once, unless a pod was
// missing within missingFor.
func (a *agents) reportMissingPod(now time.Time, node string) {
	if before, ok := a.subscription.wanted.setMissing(node, now); ok && now.Sub(before) > missingFor {
		a.scrapeKubelets(node)
	}
}
