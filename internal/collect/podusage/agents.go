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
	// AgentPeriod is how often each agent is scraped, unless something else is configured.
	AgentPeriod = 250 * time.Millisecond
	// agentGrace is for how long an agent may be silent before its node's kubelet stands in, gracePeriods how many periods
	// that is at least.
	agentGrace   = 1500 * time.Millisecond
	gracePeriods = 3
	// agentWait is the same for an agent that is not scraped because the budget has no room for it. With a
	// kubelet's defaults its own samples are older.
	agentWait = 5 * time.Second
	// agentBackoff is the longest pause before an agent that fails is scraped again. Where the pods of a node take all of
	// its CPU, an agent may miss a response or two: after a longer pause, it would miss the load itself.
	agentBackoff = time.Second
	// agentsPeriod is how often the agents of the nodes are found again, and their health is updated.
	agentsPeriod = 250 * time.Millisecond
	// agentStretch is how many times less often a kubelet is scraped while the agent of its node responds.
	// Its samples are kept, so that it can stand in at once, and are seldom newer than this.
	agentStretch = 5
	// missingFor is for how long a kubelet is scraped as often as without an agent after a ready pod was missing from the
	// agent. An object whose kubelets are scraped every second is decided as often.
	missingFor = 5 * time.Second
)

// Agents are scraped before kubelets. A kubelet stands in where its node has no agent, where the agent
// does not respond, and for pods of which it does not know all containers.
type Agents struct {
	// Scraper makes the scraper of agents for one subscription, which fills the store.
	Scraper func(store *rate.Store) (AgentScraper, error)
	// Find is where a node's agent listens; false if it has none.
	Find func(node string) (address string, found bool)
	// Run, if it is not nil, does what the others need until ctx ends.
	Run func(ctx context.Context)
	// Rounds has the budget of a subscription, and the period of those that name none, if it is not AgentPeriod.
	Rounds scrape.Config[kubelet.Target]
}

// AgentScraper scrapes agents.
type AgentScraper interface {
	Scraper
	// Contention is the response about CPU that the containers did not get, as a kubelet's /metrics/cadvisor has it.
	Contention(ctx context.Context, target kubelet.Target, selected *selection.Prepared) ([]byte, error)
	Forget(node string)
}

// agents are scraped for one subscription while a session lasts.
type agents struct {
	origin
	config       *Agents
	subscription *Subscription
	// scrapeKubelets has the kubelets of nodes scraped at once, and usedChanged is called when the samples of other
	// agents are used than before.
	scrapeKubelets func(nodes ...string)
	usedChanged    func()
	contentions    AgentScraper
	// grace is for how long an agent may be silent.
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

// run scrapes agents until ctx ends.
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

// choose makes the agents of the nodes that are wanted now those that are scraped.
func (a *agents) choose() {
	var targets []kubelet.Target
	for _, node := range a.subscription.appendNodes(nil) {
		if address, found := a.config.Find(node); found {
			targets = append(targets, kubelet.Target{Node: node, Address: address})
		}
	}
	a.rounds.Set(targets)
}

// forget leaves it to updateHealth to notice that the agent does not respond any more.
func (a *agents) forget(target kubelet.Target) {
	a.contentions.Forget(target.Node)
	a.store.Forget(target.Node)
}

// updateHealth notes whose samples are used. Where those of an agent no longer are, its node's kubelet is scraped at
// once.
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
	errNotScraped = errors.New("it is not scraped any more")
	// errNotYet is the reason of an agent that has not been scraped yet.
	errNotYet = errors.New("it has not answered yet")
)

// countAgents counts the nodes whose agents' samples a subscription uses.
func (s *session) countAgents() {
	nodes := map[string]struct{}{}
	for _, a := range s.agents {
		a.mu.Lock()
		for node, f := range a.fresh {
			if f.isUsed {
				nodes[node] = struct{}{}
			}
		}
		a.mu.Unlock()
	}
	s.service.metrics.agents.Set(float64(len(nodes)))
}

// isFresh reports whether an agent's samples may be used. An agent that is not scraped, because the budget has no room
// for it, is not silent.
func (a *agents) isFresh(f *freshness, now time.Time) bool {
	if f.requested.After(f.last) {
		return now.Sub(f.requested) <= a.grace && now.Sub(f.last) <= a.grace+agentWait
	}
	return now.Sub(f.last) <= max(a.grace, agentWait)
}

// isHealthy is isFresh of a node's agent.
func (a *agents) isHealthy(node string, now time.Time) bool {
	f, ok := a.freshness(node)
	return ok && a.isFresh(&f, now)
}

// silence is why an agent does not respond; nil if it does, or if the node has none.
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

// coversNode reports whether the agent's samples are used, and no ready pod needs the node's kubelet.
func (a *agents) coversNode(node string, now time.Time) bool {
	return a != nil && a.isHealthy(node, now) && now.Sub(a.subscription.wanted.lastMissing(node)) > missingFor
}

// uncovered are the nodes for which agents are not enough.
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

// reportMissingPod notes that an agent that responds does not know a pod. The kubelet is due if this is the first for a
// while.
func (a *agents) reportMissingPod(now time.Time, node string) {
	if before, ok := a.subscription.wanted.setMissing(node, now); ok && now.Sub(before) > missingFor {
		a.scrapeKubelets(node)
	}
}
