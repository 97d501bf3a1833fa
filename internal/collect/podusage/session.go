package podusage

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// settle is how long changes of the nodes are gathered before the rounds learn of
// them.
const settle = 100 * time.Millisecond

// listingTime is how long listing the nodes takes at most, if it works.
const listingTime = 10 * time.Second

// session is a time in which kubelets are scraped.
type session struct {
	source *Source
	watch  Watch
	store  *rate.Store
	rounds *scrape.Rounds[kubelet.Target]
	nodes  cache.SharedIndexInformer
	// kubelets are asked for what goes into store.
	kubelets Scraper
	// agents are asked before them; nil for none.
	agents *agents
	// readdressed has an element when a node's kubelet may be elsewhere.
	readdressed chan struct{}
	period      time.Duration
	began       time.Time

	// mu guards the following.
	mu sync.RWMutex
	// heard is when each node that is scraped brought something new.
	heard map[string]hearing
	// unfound says why nodes that are to be scraped are not.
	unfound map[string]error
	// failing are the nodes of which the last scrape failed.
	failing map[string]struct{}
	// preferred is until when nodes go before others.
	preferred map[string]time.Time
}

// hearing is when a node brought something new: for the first time since it was last
// silent for too long, and the last time, and how long after the one before that was.
type hearing struct {
	first, last time.Time
	gap         time.Duration
}

// add takes in that the node brought something new.
func (h *hearing) add(now time.Time) {
	if !h.last.IsZero() {
		h.gap = now.Sub(h.last)
	}
	if h.first.IsZero() || h.gap > maxAge {
		h.first = now
	}
	h.last = now
}

// silence is how old the newest samples are, or were when these came.
func (h *hearing) silence(now time.Time) time.Duration { return max(h.gap, now.Sub(h.last)) }

func newSession(source *Source, watch Watch) (*session, error) {
	s := &session{
		source: source, watch: watch, nodes: source.config.Nodes(),
		readdressed: make(chan struct{}, 1), heard: map[string]hearing{}, unfound: map[string]error{},
		failing: map[string]struct{}{}, preferred: map[string]time.Time{}, began: time.Now(),
	}
	config := source.config.Rounds
	config.Scrape, config.Forget, config.Changed = s.scrape, s.forget, s.changed
	if config.Period == 0 {
		config.Period = scrape.DefaultPeriod
	}
	s.period = config.Period
	s.store = rate.New(rate.Config{
		Span: averaging.Reach, MaxAge: s.maxSilence(), MaxSampleAge: podload.MaxSampleAge(s.longestPeriod()),
	})
	var err error
	if source.config.Agents != nil {
		if s.agents, err = newAgents(source.config.Agents, s); err != nil {
			return nil, err
		}
		config.Stretch = s.agents.stretch
	}
	if s.rounds, err = scrape.New(config); err == nil {
		s.kubelets, err = source.config.Scraper(s.store)
	}
	return s, err
}

// run scrapes until ctx ends.
func (s *session) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	defer s.source.metrics.reset()
	_, err := s.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.poke() },
		UpdateFunc: func(before, after any) { s.updated(before, after) },
		DeleteFunc: func(any) { s.poke() },
	})
	if err != nil {
		s.source.config.Log.Error(err, "watching nodes")
		return
	}
	running.Go(func() { s.nodes.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), s.nodes.HasSynced) {
		return
	}
	running.Go(func() { s.rounds.Run(ctx) })
	running.Go(func() { s.hurry(ctx) })
	if s.agents != nil {
		running.Go(func() { s.agents.run(ctx) })
	}
	for ctx.Err() == nil {
		s.choose()
		if timing.Pause(ctx, settle) != nil {
			return
		}
		select {
		case <-s.watch.Moved:
		case <-s.readdressed:
		case <-ctx.Done():
		}
	}
}

func (s *session) updated(before, after any) {
	old, ok := before.(*corev1.Node)
	node, alsoOK := after.(*corev1.Node)
	if !ok || !alsoOK || !equality.Semantic.DeepEqual(old.Status.Addresses, node.Status.Addresses) ||
		old.Status.DaemonEndpoints != node.Status.DaemonEndpoints {
		s.poke()
	}
}

func (s *session) poke() {
	select {
	case s.readdressed <- struct{}{}:
	default:
	}
}

// choose makes the nodes that are wanted now those that are scraped.
func (s *session) choose() {
	targets, unfound := s.targets()
	s.mu.Lock()
	before := s.unfound
	s.unfound = unfound
	s.mu.Unlock()
	for name, err := range unfound {
		if before[name] == nil {
			s.source.config.Log.Info("a kubelet cannot be asked", "node", name, "why", err.Error())
		}
	}
	s.source.metrics.nodes.Set(float64(len(targets) + len(unfound)))
	s.source.metrics.unfound.Set(float64(len(unfound)))
	s.rounds.Set(targets)
}

// targets are the kubelets of the nodes that are wanted, and what is wrong with those
// that cannot be asked.
func (s *session) targets() (targets []kubelet.Target, unfound map[string]error) {
	unfound = map[string]error{}
	for _, name := range s.watch.Nodes(nil) {
		target, err := s.find(name)
		if err != nil {
			unfound[name] = err
			continue
		}
		targets = append(targets, target)
	}
	return targets, unfound
}

func (s *session) find(name string) (kubelet.Target, error) {
	object, exists, err := s.nodes.GetStore().GetByKey(name)
	if err != nil {
		return kubelet.Target{}, fmt.Errorf("node %s: %w", name, err)
	}
	node, ok := object.(*corev1.Node)
	if !exists || !ok {
		return kubelet.Target{}, fmt.Errorf("there is no node %s", name)
	}
	return s.source.config.Target(node)
}

// scrape asks one kubelet and tells of what is new, and what that cost.
func (s *session) scrape(ctx context.Context, target kubelet.Target) (cpu time.Duration, err error) {
	began := time.Now()
	round, err := s.ask(ctx, target)
	if ctx.Err() != nil {
		return round.CPU, err
	}
	now := time.Now()
	s.source.metrics.scraped(now.Sub(began), round.CPU, err)
	if err != nil || round.Fresh == 0 {
		return round.CPU, err
	}
	s.mu.Lock()
	h := s.heard[target.Node]
	told := Sampled{Node: target.Node, At: now, Before: h.last}
	h.add(now)
	s.heard[target.Node] = h
	s.mu.Unlock()
	s.sampled(told, s.store)
	return round.CPU, nil
}

// uses are lists of what pods use, to be used again.
var uses = sync.Pool{New: func() any { return new([]rate.PodUse) }}

// sampled reports new samples, which are in a store.
func (s *session) sampled(of Sampled, store *rate.Store) {
	buffer, isList := uses.Get().(*[]rate.PodUse)
	if !isList {
		buffer = new([]rate.PodUse)
	}
	of.Use = store.Newest(of.Node, (*buffer)[:0])
	s.watch.Sampled(of)
	// What the buffer holds would keep the names of pods alive that are gone.
	clear(of.Use)
	*buffer = of.Use
	uses.Put(buffer)
}

// ask asks one kubelet. Reading what a stranger sent must not end the process.
func (s *session) ask(ctx context.Context, target kubelet.Target) (round rate.Round, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.source.config.Log.Error(fmt.Errorf("panic: %v", r), "reading a kubelet failed", "node", target.Node,
				"stack", string(debug.Stack()))
			round, err = rate.Round{}, fmt.Errorf("kubelet of node %s at %s: reading its answer failed: %v",
				target.Node, target.Address, r)
		}
	}()
	return s.kubelets.Scrape(ctx, target)
}

func (s *session) forget(target kubelet.Target) {
	node := target.Node
	s.mu.Lock()
	delete(s.heard, node)
	delete(s.failing, node)
	s.source.metrics.failing.Set(float64(len(s.failing)))
	s.mu.Unlock()
	s.store.Forget(node)
}

// changed tells when a node begins or ceases to fail.
func (s *session) changed(state scrape.State[kubelet.Target]) {
	node, log := state.Target.Node, s.source.config.Log
	if _, isAsked := s.rounds.State(node); !isAsked {
		return // told late: it is gone
	}
	s.mu.Lock()
	if state.IsFailing() {
		s.failing[node] = struct{}{}
	} else {
		delete(s.failing, node)
	}
	s.source.metrics.failing.Set(float64(len(s.failing)))
	s.mu.Unlock()
	if state.IsFailing() {
		log.Info("a kubelet cannot be read", "node", node, "why", state.LastError.Error())
		return
	}
	log.Info("a kubelet can be read again", "node", node)
}

// longestPeriod is how often a kubelet is asked at least where the budget allows it.
func (s *session) longestPeriod() time.Duration {
	if s.source.config.Agents != nil {
		return agentStretch * s.period
	}
	return s.period
}

// maxSilence is maxAge, and what is added to it by asking less often.
func (s *session) maxSilence() time.Duration { return maxAge + s.longestPeriod() - s.period }

// grace is how long a node may fail before its samples are too old.
func (s *session) grace() time.Duration { return max(3*s.period, 3*time.Second) }

// health says since when a node has brought something, or why what it brought does not hold any
// more: neither its kubelet nor, if it has one, its agent answers.
func (s *session) health(node string, now time.Time) (hearing, error) {
	h, err := s.kubeletHealth(node, now)
	if err == nil || s.agents == nil || errors.Is(err, ErrStarting) {
		return h, err
	}
	if silence := s.agents.silence(node, now); silence != nil {
		err = fmt.Errorf("%w; and its agent does not answer: %w", err, silence)
	}
	return h, err
}

// kubeletHealth says since when a kubelet has brought something, or why what it brought
// does not hold any more.
func (s *session) kubeletHealth(node string, now time.Time) (hearing, error) {
	state, isAsked := s.rounds.State(node)
	s.mu.RLock()
	h, err := s.heard[node], s.unfound[node]
	s.mu.RUnlock()
	switch {
	case err != nil:
		return h, err
	case !s.nodes.HasSynced() && now.Sub(s.began) > listingTime:
		return h, errNoNodes
	case !isAsked:
		return h, fmt.Errorf("node %s: %w", node, ErrStarting)
	case state.IsFailing() && now.Sub(state.Succeeded) > s.grace():
		return h, state.LastError
	case state.Started.After(state.Succeeded) && now.Sub(state.Started) > s.grace():
		return h, fmt.Errorf("kubelet of node %s at %s: %w", node, state.Target.Address, errNoAnswer)
	case h.first.IsZero():
		return h, fmt.Errorf("node %s: %w", node, ErrStarting)
	case h.silence(now) > s.maxSilence():
		return h, fmt.Errorf("kubelet of node %s at %s: %w", node, state.Target.Address, errTooOld)
	}
	return h, nil
}

var (
	errNoAnswer = errors.New("no answer yet")
	// errTooOld is also what becomes of nodes that a short budget leaves to themselves
	// for too long: now and then a sample between two that are too old helps nobody.
	errTooOld  = fmt.Errorf("its samples are more than %s old before there are newer ones", maxAge)
	errNoNodes = errors.New("the nodes' addresses are not known: the API server has not listed them")
)
