package podusage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// origin scrapes one kind of server on the nodes: their kubelets, or their agents.
type origin struct {
	// name is "kubelet" or "agent".
	name    string
	log     logr.Logger
	scraper Scraper
	store   *rate.Store
	rounds  *scrape.Rounds[kubelet.Target]
	// selected returns the containers to request from a node; nil for none. A nil function selects everything.
	selected func(node string) *selection.Prepared
	// subscribers returns the subscriptions of a node.
	subscribers func(node string) []*Subscription
	// count counts a scrape; failures, if it is not nil, is the number of failing nodes.
	count    func(took, cpu time.Duration, err error)
	failures prometheus.Gauge

	// mu guards the following.
	mu sync.Mutex
	// fresh holds when each node had new samples.
	fresh map[string]freshness
	// failing holds the nodes whose last scrape failed. It is nil if failures is.
	failing map[string]struct{}
}

// freshness records when a node had new samples: the first since it was last silent for too long, the last, and the gap
// between the last two.
type freshness struct {
	first, last time.Time
	gap         time.Duration
	// requested is the time of the first scrape since last.
	requested time.Time
	// isUsed reports whether the samples of the node's agent are used.
	isUsed bool
}

// add records a scrape with new samples.
func (f *freshness) add(now time.Time) {
	if !f.last.IsZero() {
		f.gap = now.Sub(f.last)
	}
	if f.first.IsZero() || f.gap > maxAge {
		f.first = now
	}
	f.last = now
}

// silence returns the age of the newest samples, or the gap before them if that is longer.
func (f *freshness) silence(now time.Time) time.Duration { return max(f.gap, now.Sub(f.last)) }

// begin makes the rounds. They have no targets yet.
func (o *origin) begin(config scrape.Config[kubelet.Target]) (err error) {
	o.fresh, o.failing = map[string]freshness{}, map[string]struct{}{}
	config.Scrape, config.Changed = o.scrape, o.changed
	o.rounds, err = scrape.New(config)
	return err
}

// scrape scrapes one node, unless nothing is selected on it, and reports new samples.
func (o *origin) scrape(ctx context.Context, target kubelet.Target) (cpu time.Duration, err error) {
	var selected *selection.Prepared
	if o.selected != nil {
		if selected = o.selected(target.Node); selected == nil {
			return 0, nil
		}
	}
	began := time.Now()
	o.request(target.Node, began)
	round, err := o.read(ctx, target, selected)
	if ctx.Err() != nil {
		return round.CPU, err
	}
	now := time.Now()
	o.count(now.Sub(began), round.CPU, err)
	if err != nil || round.Fresh == 0 {
		return round.CPU, err
	}
	o.mu.Lock()
	f := o.fresh[target.Node]
	sampled := Sampled{Node: target.Node, At: now, Before: f.last}
	f.add(now)
	o.fresh[target.Node] = f
	o.mu.Unlock()
	o.report(sampled)
	return round.CPU, nil
}

func (o *origin) freshness(node string) (f freshness, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.fresh[node]
	return f, ok
}

// request records the time of the first scrape since the last new samples.
func (o *origin) request(node string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f, ok := o.fresh[node]; ok && !f.requested.After(f.last) {
		f.requested = now
		o.fresh[node] = f
	}
}

// read scrapes one node. A panic of the parser must not end the process.
func (o *origin) read(
	ctx context.Context, target kubelet.Target, selected *selection.Prepared,
) (round rate.Round, err error) {
	defer func() {
		if r := recover(); r != nil {
			panics.Report(r, o.log, nil, "reading a node failed", "node", target.Node, "from", o.name)
			round, err = rate.Round{}, fmt.Errorf("%s of node %s at %s: reading its response failed: %v", o.name, target.Node,
				target.Address, r)
		}
	}()
	return o.scraper.Scrape(ctx, target, selected)
}

// uses pools the buffers of Sampled.Use.
var uses sync.Pool

// report calls the subscribers of a node.
func (o *origin) report(of Sampled) {
	var buffer *[]rate.PodUse
	for _, subscriber := range o.subscribers(of.Node) {
		watch := subscriber.watch.Load()
		if watch == nil || watch.Sampled == nil {
			continue
		}
		if buffer == nil {
			if buffer, _ = uses.Get().(*[]rate.PodUse); buffer == nil {
				buffer = new([]rate.PodUse)
			}
			of.Use = o.store.Newest(of.Node, (*buffer)[:0])
		}
		watch.Sampled(of)
	}
	if buffer != nil {
		// The buffer must not keep names of deleted pods in memory.
		clear(of.Use)
		*buffer = of.Use
		uses.Put(buffer)
	}
}

func (o *origin) forget(node string) {
	o.mu.Lock()
	delete(o.fresh, node)
	o.setFailingLocked(node, false)
	o.mu.Unlock()
	o.store.Forget(node)
}

// changed logs that a node begins or ceases to fail.
func (o *origin) changed(state scrape.State[kubelet.Target]) {
	node := state.Target.Node
	if _, isTarget := o.rounds.State(node); !isTarget {
		return // The call came late: the node is no target any more.
	}
	o.mu.Lock()
	o.setFailingLocked(node, state.IsFailing())
	o.mu.Unlock()
	if state.IsFailing() {
		o.log.Info("a node cannot be read", "node", node, "from", o.name, "err", state.LastError.Error())
		return
	}
	o.log.Info("a node can be read again", "node", node, "from", o.name)
}

// setFailingLocked records whether the last scrape of a node failed, if failures are counted.
func (o *origin) setFailingLocked(node string, isFailing bool) {
	if o.failures == nil {
		return
	}
	if isFailing {
		o.failing[node] = struct{}{}
	} else {
		delete(o.failing, node)
	}
	o.failures.Set(float64(len(o.failing)))
}
