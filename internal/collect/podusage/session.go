package podusage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// nodeDebounce is the time for which changes of nodes are collected before the targets are set.
const nodeDebounce = 100 * time.Millisecond

// listingTime is the longest that a list of the nodes takes.
const listingTime = 10 * time.Second

// session scrapes nodes while the permissions are granted.
type session struct {
	service       *Service
	subscriptions []*Subscription
	nodes         cache.SharedIndexInformer
	// kubelets are scraped once for all subscriptions.
	kubelets *origin
	// agents are scraped for each subscription, by its index, for its own pods at its own period. Empty where there are no
	// agents.
	agents []*agents
	// period is the shortest of the subscriptions' periods.
	period time.Duration
	began  time.Time

	// mu guards the following.
	mu sync.RWMutex
	// wanted holds the subscriptions of each node. Its lists are immutable.
	wanted map[string][]*Subscription
	// unresolved holds the error of each wanted node that cannot be scraped.
	unresolved map[string]error
}

func newSession(service *Service, subscriptions []*Subscription) (*session, error) {
	config := &service.config
	s := &session{
		service: service, subscriptions: subscriptions, nodes: config.Nodes(), period: config.Rounds.Period,
		began: time.Now(), wanted: map[string][]*Subscription{}, unresolved: map[string]error{},
	}
	kept := maxAge
	for i, of := range subscriptions {
		if i == 0 || of.cadence.Kubelets < s.period {
			s.period = of.cadence.Kubelets
		}
		kept = max(kept, of.maxSilence())
		if config.Agents != nil {
			urgent := func(nodes ...string) { s.kubelets.rounds.Urgent(nodes...) }
			a, err := newAgents(service, of, urgent, s.countAgents)
			if err != nil {
				return nil, err
			}
			s.agents = append(s.agents, a)
		}
	}
	s.kubelets = &origin{
		name: "kubelet", log: config.Log, store: rate.New(rate.Config{Span: averaging.Reach, MaxAge: kept}),
		subscribers: s.subscribersOf, count: service.metrics.scraped, failures: service.metrics.failing,
	}
	rounds := config.Rounds
	rounds.Period, rounds.Stretch = s.period, s.stretch
	rounds.Forget = func(target kubelet.Target) { s.kubelets.forget(target.Node) }
	if err := s.kubelets.begin(rounds); err != nil {
		return nil, err
	}
	var err error
	s.kubelets.scraper, err = config.Scraper(s.kubelets.store)
	return s, err
}

func (s *session) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer s.service.metrics.reset()
	changed := s.service.notifyNodesChanged
	_, err := s.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() },
		UpdateFunc: func(before, after any) {
			if hasMoved(before, after) {
				changed()
			}
		},
		DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		s.service.config.Log.Error(err, "watching nodes")
		return
	}
	running.Go(func() { s.nodes.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), s.nodes.HasSynced) {
		return
	}
	running.Go(func() { s.kubelets.rounds.Run(ctx) })
	running.Go(func() { s.promotePreferred(ctx) })
	if of := s.service.config.Agents; of != nil && of.Run != nil {
		running.Go(func() { of.Run(ctx) })
	}
	for _, a := range s.agents {
		running.Go(func() { a.run(ctx) })
	}
	for ctx.Err() == nil {
		s.choose()
		if timing.Pause(ctx, nodeDebounce) != nil {
			return
		}
		select {
		case <-s.service.nodesChanged:
		case <-ctx.Done():
		}
	}
}

// hasMoved reports whether a node's kubelet may be at another address.
func hasMoved(before, after any) bool {
	old, ok := before.(*corev1.Node)
	node, alsoOK := after.(*corev1.Node)
	return !ok || !alsoOK || !equality.Semantic.DeepEqual(old.Status.Addresses, node.Status.Addresses) ||
		old.Status.DaemonEndpoints != node.Status.DaemonEndpoints
}

// choose sets the targets: the nodes that are wanted now.
func (s *session) choose() {
	wanted, unresolved := map[string][]*Subscription{}, map[string]error{}
	var names []string
	for _, of := range s.subscriptions {
		names = of.appendNodes(names[:0])
		for _, name := range names {
			wanted[name] = append(wanted[name], of)
		}
	}
	var targets []kubelet.Target
	for name := range wanted {
		target, err := s.resolve(name)
		if err != nil {
			unresolved[name] = err
			continue
		}
		targets = append(targets, target)
	}
	s.mu.Lock()
	before, beforeUnresolved := s.wanted, s.unresolved
	s.wanted, s.unresolved = wanted, unresolved
	s.mu.Unlock()
	for name, err := range unresolved {
		if beforeUnresolved[name] == nil {
			s.service.config.Log.Info("a node cannot be scraped", "node", name, "err", err.Error())
		}
	}
	s.service.metrics.nodes.Set(float64(len(wanted)))
	s.service.metrics.unfound.Set(float64(len(unresolved)))
	s.kubelets.rounds.Set(targets)
	s.hasten(before, wanted)
}

// hasten scrapes nodes at once whose period has become shorter, instead of when the longer period ends.
func (s *session) hasten(before, wanted map[string][]*Subscription) {
	var hastened []string
	for node, of := range wanted {
		if former := before[node]; len(former) > 0 && shortest(of) < shortest(former) {
			hastened = append(hastened, node)
		}
	}
	s.kubelets.rounds.Urgent(hastened...)
	s.kubelets.rounds.Retry(hastened...)
}

func shortest(of []*Subscription) time.Duration {
	period := of[0].cadence.Kubelets
	for _, other := range of[1:] {
		period = min(period, other.cadence.Kubelets)
	}
	return period
}

func (s *session) resolve(name string) (kubelet.Target, error) {
	object, exists, err := s.nodes.GetStore().GetByKey(name)
	if err != nil {
		return kubelet.Target{}, fmt.Errorf("node %s: %w", name, err)
	}
	node, ok := object.(*corev1.Node)
	if !exists || !ok {
		return kubelet.Target{}, fmt.Errorf("there is no node %s", name)
	}
	return s.service.config.Target(node)
}

func (s *session) subscribersOf(node string) []*Subscription {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.wanted[node]
}

// agentsOf returns those of a subscription; nil without agents.
func (s *session) agentsOf(of *Subscription) *agents {
	if of.index >= len(s.agents) {
		return nil
	}
	return s.agents[of.index]
}

// countAgents counts the nodes whose agent's samples are used.
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

// stretch returns the factor by which a kubelet's period is longer than the session's.
func (s *session) stretch(target kubelet.Target) float64 {
	now, period := time.Now(), time.Duration(0)
	for _, of := range s.subscribersOf(target.Node) {
		needed := of.cadence.Kubelets
		if s.agentsOf(of).coversNode(target.Node, now) {
			needed *= agentStretch
		}
		if period == 0 || needed < period {
			period = needed
		}
	}
	return max(1, float64(period)/float64(s.period))
}

// longestPeriod is the longest period of a kubelet's scrapes while the budget suffices.
func (s *Subscription) longestPeriod() time.Duration {
	if s.wanted != nil {
		return agentStretch * s.cadence.Kubelets
	}
	return s.cadence.Kubelets
}

// maxSilence adds to maxAge the time by which a working agent stretches the period.
func (s *Subscription) maxSilence() time.Duration {
	return maxAge + s.longestPeriod() - s.cadence.Kubelets
}

// maxSampleAge bounds the time since a container's newest sample arrived.
func (s *Subscription) maxSampleAge() time.Duration { return podload.MaxSampleAge(s.longestPeriod()) }

// grace is how long a node may fail before its samples are too old.
func (s *Subscription) grace() time.Duration { return max(3*s.cadence.Kubelets, 3*time.Second) }

// health returns the freshness of a node's samples, or an error if they are too old for a subscription: neither its
// kubelet nor, if it has one, its agent responds.
func (s *session) health(of *Subscription, node string, now time.Time) (freshness, error) {
	f, err := s.kubeletHealth(of, node, now)
	a := s.agentsOf(of)
	if err == nil || a == nil || errors.Is(err, ErrStarting) {
		return f, err
	}
	if silence := a.silence(node, now); silence != nil {
		err = fmt.Errorf("%w; and its agent does not respond: %w", err, silence)
	}
	return f, err
}

// kubeletHealth returns the freshness of a kubelet's samples, or an error if they are too old.
func (s *session) kubeletHealth(of *Subscription, node string, now time.Time) (freshness, error) {
	state, isTarget := s.kubelets.rounds.State(node)
	s.mu.RLock()
	err := s.unresolved[node]
	s.mu.RUnlock()
	f, _ := s.kubelets.freshness(node)
	switch {
	case err != nil:
		return f, err
	case !s.nodes.HasSynced() && now.Sub(s.began) > listingTime:
		return f, errNoNodes
	case !isTarget:
		return f, fmt.Errorf("node %s: %w", node, ErrStarting)
	case state.IsFailing() && now.Sub(state.Succeeded) > of.grace():
		return f, state.LastError
	case state.Started.After(state.Succeeded) && now.Sub(state.Started) > of.grace():
		return f, fmt.Errorf("kubelet of node %s at %s: %w", node, state.Target.Address, errNoAnswer)
	case f.first.IsZero():
		return f, fmt.Errorf("node %s: %w", node, ErrStarting)
	case f.silence(now) > of.maxSilence():
		return f, fmt.Errorf("kubelet of node %s at %s: %w", node, state.Target.Address, errTooOld)
	}
	return f, nil
}

var (
	errNoAnswer = errors.New("no response yet")
	// errTooOld also covers nodes that a short budget scrapes too rarely: single samples with gaps that are too long
	// between them are of no use.
	errTooOld  = fmt.Errorf("its newest samples are older than %s", maxAge)
	errNoNodes = errors.New("the nodes' addresses are unknown: the API server has not listed them")
)
