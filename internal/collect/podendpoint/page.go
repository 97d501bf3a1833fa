package podendpoint

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/page"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/fetch"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// leastSpread is the time within which the pods of one object are scraped, so that its round ends soon, unless they
	// are so many that others would wait for them.
	leastSpread = 20 * time.Millisecond
	// tick divides the pods' phases: where there are many pods, tens of scrapes begin at once, and threads neither sleep
	// nor wake for each.
	tick = 5 * time.Millisecond
	// turn is the shortest time between two moves of a sample.
	turn = time.Second
)

// podPage is one page that each of an object's pods has. The object's lock guards it.
type podPage struct {
	source *Source
	object *object
	place  sources.PodEndpoint
	auth   *clientauth.Client
	// metrics are the metrics to read from it; wants are the same for scrapes, which read it without the lock.
	metrics []*wanted
	wants   atomic.Pointer[wants]

	// pods counts the pods with this page, targets are the scraped ones.
	pods    int
	targets map[uint64]*target
	// limit is the size of the sample if not all pods are in it; stretched is the factor by which the interval is longer,
	// in thousandths, 0 before the first plan.
	limit     int
	stretched atomic.Int64
	// spread is the time within which the object's pods are scraped, in nanoseconds, 0 before the first plan.
	spread atomic.Int64
	circle sample.Circle
	moved  time.Time
	// unreachables counts the pods without this port.
	unreachables int
	// reporting counts the targets of the sample that do not fail.
	reporting int
	// cost is the average cost of scraping one pod; 0 before the first.
	cost time.Duration
	// took is the average duration of scraping one pod, planned its value in the last plan; 0 before the first.
	took, planned time.Duration

	uids    []uint64
	indices []int
}

type wants struct {
	metrics []*wanted
	page    []page.Want
}

func (p *podPage) setMetrics(metrics []*wanted) {
	w := &wants{metrics: metrics}
	for _, m := range metrics {
		w.page = append(w.page, m.want)
	}
	p.metrics = metrics
	p.wants.Store(w)
}

// target is a pod's page.
type target struct {
	page *podPage
	// All up to isHostNetwork do not change.
	key             string
	pod             uint64
	namespace, name string
	address         netip.AddrPort
	host            string // the address as text
	isHostNetwork   bool
	// connection, parsing and isMeasured belong to the running scrape. parsing is the CPU of parsing its page when that
	// was last measured.
	connection fetch.Connection
	parsing    time.Duration
	isMeasured bool
	// next is another target of the same pod; the source's lock guards it.
	next *target

	added time.Time
	// isAhead marks a target that will be in the sample next, and does not count yet.
	isAhead, isReady bool
	histories        []counter.History
	// sampled is the time of its last new samples, failing the error of a failing one. isSilent is true if its last scrape
	// failed, so that its page is unknown.
	sampled  time.Time
	failing  error
	isSilent bool
	// isAwaited is true while a scrape is under way.
	isAwaited atomic.Bool
	// scrapes counts the pages that were read; series counts the series in its histories.
	scrapes, series int
}

// Key implements scrape.Target.
func (t *target) Key() string { return t.key }

// Phase implements scrape.Target: the pods of an object are scraped at about the same time.
func (t *target) Phase(period time.Duration) time.Duration {
	spread := max(leastSpread, time.Duration(t.page.spread.Load()))
	phase := timing.Phase(t.page.object.name, period) + timing.Phase(t.key, min(spread, period))
	return (phase - phase%tick) % period
}

func (p *podPage) timeout() time.Duration { return cmp.Or(p.place.Timeout, p.source.config.Timeout) }

// stretch is the factor by which the page's interval is longer. It takes no lock, as scrape.Config.Stretch requires.
func (p *podPage) stretch() float64 { return max(1, float64(p.stretched.Load())/1000) }

// String is the target's name in errors.
func (t *target) String() string { return "pod " + t.name + " at " + t.host }

// keys numbers the targets.
var keys atomic.Uint64

// follow sets the object's pods.
func (p *podPage) follow(now time.Time, pods []*observe.Pod) {
	p.unreachables = 0
	eligible, known := 0, 0
	for _, pod := range pods {
		switch isKnown := p.update(pod); {
		case !isEligible(pod):
		case isKnown:
			known++
			eligible++
		case p.hasPort(pod):
			eligible++
		default:
			p.unreachables++
		}
	}
	isSame := eligible == p.pods && known == len(p.targets)
	p.pods = eligible
	size := p.size()
	isWhole := size >= eligible
	if isSame && (isWhole && known == eligible || !isWhole && known >= size && now.Sub(p.moved) < turn) {
		return
	}
	p.moved = now
	p.choose(now, pods, size)
}

// update updates the target of a pod, and reports whether the pod has one.
func (p *podPage) update(pod *observe.Pod) bool {
	t := p.targets[pod.Identity()]
	switch {
	case t == nil:
		return false
	case t.address.Addr() != pod.Address():
		p.remove([]*target{t}) // it has a new sandbox
		return false
	case pod.IsReady() && !t.isReady && t.failing != nil:
		p.source.rounds.Retry(t.key)
	}
	t.isReady = pod.IsReady()
	return true
}

// isEligible reports whether a pod can have a page now.
func isEligible(pod *observe.Pod) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting && pod.Address().IsValid()
}

// size is the number of pods in the sample.
func (p *podPage) size() int {
	if p.limit == 0 {
		p.limit = p.source.budget.first(p.pods)
	}
	return min(p.limit, p.pods)
}

// choose makes the sample the targets, and a few more that will be in it next. The sample is one of the ready pods:
// those that are starting do not count.
func (p *podPage) choose(now time.Time, pods []*observe.Pod, size int) {
	p.uids = p.uids[:0]
	var all []*observe.Pod
	for _, pod := range pods {
		if !isEligible(pod) || p.targets[pod.Identity()] == nil && !p.hasPort(pod) || size < p.pods && !pod.IsReady() {
			continue
		}
		all = append(all, pod)
		p.uids = append(p.uids, pod.Identity())
	}
	p.indices = p.circle.Choose(now, p.uids, size, p.indices[:0])
	keep := make(map[uint64]struct{}, len(p.indices))
	var added []*target
	for i, n := range p.indices {
		pod := all[n]
		keep[pod.Identity()] = struct{}{}
		t := p.targets[pod.Identity()]
		if t == nil {
			t = p.add(now, pod)
			added = append(added, t)
		}
		t.isAhead = i >= size
	}
	var removed []*target
	for id, t := range p.targets {
		if _, isKept := keep[id]; !isKept {
			removed = append(removed, t)
		}
	}
	p.remove(removed)
	p.count()
	p.source.link(added)
	if size < p.pods {
		p.source.rounds.Join(added...)
	} else {
		p.source.rounds.Add(added...)
	}
}

func (p *podPage) count() {
	p.reporting = 0
	for _, t := range p.targets {
		if t.isReporting() {
			p.reporting++
		}
	}
}

func (t *target) isReporting() bool { return !t.isAhead && t.failing == nil }

func (p *podPage) hasPort(pod *observe.Pod) bool {
	_, err := p.portOf(pod)
	return err == nil
}

func (p *podPage) portOf(pod *observe.Pod) (uint16, error) {
	if p.place.PortName == "" {
		return p.place.Port, nil
	}
	if port, has := pod.Port(p.place.PortName); has {
		return port, nil
	}
	return 0, &portError{pod: pod.Name, port: p.place.PortName}
}

type portError struct{ pod, port string }

// Error implements error.
func (e *portError) Error() string {
	return "pod " + e.pod + " has no container port named " + strconv.Quote(e.port)
}

func (p *podPage) add(now time.Time, pod *observe.Pod) *target {
	port, _ := p.portOf(pod) // it has one, see choose
	address := netip.AddrPortFrom(pod.Address(), port)
	t := &target{
		page: p, key: strconv.FormatUint(keys.Add(1), 36), pod: pod.Identity(), namespace: pod.Namespace(),
		name: pod.Name, address: address, host: address.String(), isHostNetwork: pod.IsHostNetwork(),
		added: now, isReady: pod.IsReady(), histories: make([]counter.History, len(p.metrics)),
	}
	for i, m := range p.metrics {
		t.histories[i] = m.newHistory()
	}
	p.targets[t.pod] = t
	return t
}

func (p *podPage) end() {
	removed := make([]*target, 0, len(p.targets))
	for _, t := range p.targets {
		removed = append(removed, t)
	}
	p.remove(removed)
}

func (p *podPage) remove(targets []*target) {
	if len(targets) == 0 {
		return
	}
	removed := make([]string, 0, len(targets))
	for _, t := range targets {
		delete(p.targets, t.pod)
		removed = append(removed, t.key)
		p.source.reserve(t, 0)
	}
	p.source.unlink(targets)
	p.source.rounds.Remove(removed...)
}

// link indexes targets by pod.
func (s *Source) link(targets []*target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range targets {
		t.next = s.byPod[t.pod]
		s.byPod[t.pod] = t
	}
}

func (s *Source) unlink(targets []*target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range targets {
		var rest []*target
		for other := s.byPod[t.pod]; other != nil; other = other.next {
			if other != t {
				rest = append(rest, other)
			}
		}
		delete(s.byPod, t.pod)
		for _, other := range slices.Backward(rest) {
			other.next = s.byPod[t.pod]
			s.byPod[t.pod] = other
		}
	}
}

// gone is called when a target is not scraped any more, and will not be again.
func (s *Source) gone(t *target) { s.client.Close(&t.connection) }
