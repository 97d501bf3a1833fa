package podusage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Cadence is the period at which a loop needs samples of each kubelet, and of each agent. 0 is the period of
// Config.Rounds and of Agents.Rounds.
type Cadence struct{ Kubelets, Agents time.Duration }

// Watch is the subscriber: the nodes to scrape and the callback for new samples.
type Watch struct {
	// Nodes appends the nodes to scrape; Moved has an element when they have changed.
	Nodes func(dst []string) []string
	Moved <-chan struct{}
	// Sampled, if it is not nil, is called for each scrape with new samples.
	Sampled func(Sampled)
}

// Sampled is a scrape with new samples.
type Sampled struct {
	Node string
	// At is the current time, Before the end of the last scrape with new samples; zero for the first one.
	At, Before time.Time
	// Use is the use of the node's pods by these samples alone. It is valid until Sampled returns.
	Use []rate.PodUse
}

// Subscription connects one loop to a Service: it has the loop's nodes, pods and cadence.
type Subscription struct {
	service *Service
	// index is its index among the service's subscriptions.
	index   int
	cadence Cadence
	// watch is nil unless Run is running.
	watch atomic.Pointer[Watch]
	// wanted holds the pods to request from agents; nil without agents.
	wanted *wantedPods

	// mu guards the following.
	mu sync.Mutex
	// preferred holds the end of each node's preference.
	preferred map[string]time.Time
}

// Subscribe makes the subscription of one loop. All must be made before the first of them runs.
func (s *Service) Subscribe(cadence Cadence) *Subscription {
	if cadence.Kubelets == 0 {
		cadence.Kubelets = s.config.Rounds.Period
	}
	of := &Subscription{service: s, cadence: cadence, preferred: map[string]time.Time{}}
	if s.config.Agents != nil {
		of.wanted = newWantedPods()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of.index = len(s.subscriptions)
	s.subscriptions = append(s.subscriptions, of)
	return of
}

// Run scrapes the nodes until ctx ends, while the permissions are granted.
func (s *Subscription) Run(ctx context.Context, watch Watch) {
	s.watch.Store(&watch)
	s.service.join(ctx)
	for ctx.Err() == nil {
		s.service.notifyNodesChanged()
		select {
		case <-watch.Moved:
		case <-ctx.Done():
		}
	}
	s.watch.Store(nil)
	s.service.notifyNodesChanged()
	s.service.leave()
}

// appendNodes appends the nodes that the loop wants; none unless Run is running.
func (s *Subscription) appendNodes(dst []string) []string {
	if watch := s.watch.Load(); watch != nil {
		return watch.Nodes(dst)
	}
	return dst
}

// Set makes requests to agents select these pods of the object, and no others of it. Kubelets serve all pods of their
// nodes.
func (s *Subscription) Set(key observe.Key, pods []*observe.Pod) {
	if s.wanted != nil {
		s.wanted.table.SetAll(key, pods)
	}
}

// Forget ends Set of an object.
func (s *Subscription) Forget(key observe.Key) { s.Set(key, nil) }

// Latest reads the usage of the pods into v, which serves it until the next Latest. It returns an error if there is not
// enough to decide on.
func (s *Subscription) Latest(now time.Time, pods []*observe.Pod, v *View) error {
	// Load isBeginning first: it is cleared only after session is set.
	isBeginning, session := s.service.isBeginning.Load(), s.service.session.Load()
	if session != nil {
		return session.latest(s, now, pods, v)
	}
	*v = View{} // It may have something of other pods, from a session that has ended.
	if isBeginning {
		return fmt.Errorf("the permissions on kubelets are not checked yet: %w", ErrStarting)
	}
	return ErrNotGranted
}

// ReportMissing reports the pods of the last Latest that their agents lack: their kubelets are scraped as often as
// without an agent for a while.
func (s *Subscription) ReportMissing(now time.Time, pods []*observe.Pod, v *View) {
	for _, i := range v.Lacking() {
		v.agents.reportMissingPod(now, pods[i].Node())
	}
}

// Prefer scrapes these nodes before others: with atOnce for one scrape as soon as possible, otherwise for some seconds
// where the budget is too short to scrape all nodes each period.
func (s *Subscription) Prefer(atOnce bool, nodes ...string) {
	session := s.service.session.Load()
	switch {
	case session == nil:
	case atOnce:
		session.kubelets.rounds.Urgent(session.agentsOf(s).uncovered(nodes, time.Now())...)
	default:
		s.prefer(time.Now(), nodes)
	}
}

// Targets returns the kubelets of the loop's nodes that are scraped now.
func (s *Subscription) Targets() []kubelet.Target {
	session := s.service.session.Load()
	if session == nil {
		return nil
	}
	var targets []kubelet.Target
	for _, node := range s.appendNodes(nil) {
		if target, err := session.resolve(node); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}
