package loop

import (
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// PlimsollTiming is when Plimsoll's controller decides.
type PlimsollTiming struct {
	// Interval is --kubelet-scrape-interval, Jitter how late a scrape is at most.
	Interval, Jitter time.Duration
	// Agents is how often the agents of nodes read what pods use, and how often they are asked; with 0
	// there are none, and kubelets are.
	Agents time.Duration
	// Sync is how often custom and external metrics are asked for.
	Sync time.Duration
	// StandIn is when metrics-server scrapes, which stands in for nodes that do not answer.
	StandIn MetricsServerTiming
	// Aligned has all nodes scraped at whole seconds and never late.
	Aligned bool
}

// DefaultPlimsollTiming is the controller's default.
func DefaultPlimsollTiming() PlimsollTiming {
	return PlimsollTiming{
		Interval: time.Second, Jitter: 20 * time.Millisecond, Sync: 15 * time.Second,
		StandIn: DefaultUpstreamTiming().MetricsServerTiming,
	}
}

// group are nodes that are scraped together.
type group struct {
	phase time.Duration
	// rounds is how many periods have passed, last and next when it was and is scraped.
	rounds     int
	last, next time.Duration
	// first is when it answered for the first time, or for the first time since it was silent for long. failures is how
	// many times in a row it has not answered. hasAnswered is set once it has.
	first       time.Duration
	failures    int
	hasAnswered bool
	// reported is when a scrape brought something new the last time.
	reported time.Duration
	// agent is when the agents of the nodes read and are asked next.
	agent agent
}

// Plimsoll is Plimsoll's controller.
type Plimsoll struct {
	decider
	timing PlimsollTiming
	// readsKubelets and readsPages say what is scraped: samples of the kubelets, and what pods
	// answer themselves.
	readsKubelets, readsPages bool

	groups []group
	round  trigger.Round
	// hasPods says which of the groups have pods, and is filled anew each time.
	hasPods []bool
	// sampled, event and sync are when a decision is due, because of samples, of pods,
	// and of metrics that have to be asked for.
	sampled, event, sync time.Duration
	decidedAt            time.Duration
	suspects             []int
	view                 podload.View
	// standIn is nil where all nodes answer at all times.
	standIn *standIn
	servers []server
	floor   floor
	// renewal is how long after it is due a forecast is renewed: the controller spreads that over all objects.
	renewal time.Duration
}

// The least and the most of a renewal.
const leastRenewal, mostRenewal = 4 * time.Second, 8 * time.Second

var _ Loop = (*Plimsoll)(nil)

// NewPlimsoll is Plimsoll's controller on a world.
func NewPlimsoll(c Config, timing PlimsollTiming) *Plimsoll {
	p := &Plimsoll{
		decider: newDecider(c), view: podload.View{Period: timing.Interval},
		timing: timing, groups: make([]group, c.World.Groups()),
		hasPods: make([]bool, c.World.Groups()),
		sampled: never, event: never, decidedAt: -time.Hour, floor: newFloor(&c),
		renewal: leastRenewal + time.Duration(scatter(c.Seed)%uint64(mostRenewal-leastRenewal)),
	}
	random := rand.New(rand.NewPCG(c.Seed, 0x706c696d))
	if c.World.HasOutages() {
		p.standIn = newStandIn(&p.Config, timing.StandIn)
	}
	p.servers = newServers(&p.Config, random)
	p.sync = time.Duration(random.Int64N(int64(timing.Sync)))
	for i := range c.Policy.Metrics {
		spec := &c.Policy.Metrics[i]
		p.readsKubelets = p.readsKubelets || isResource(spec)
		p.readsPages = p.readsPages || spec.IsPodEndpoint()
	}
	for i := range p.groups {
		g := &p.groups[i]
		switch {
		case timing.Aligned:
		case i > 0 && !p.readsKubelets:
			// The pods of one object are scraped together.
			g.phase = p.groups[0].phase
		default:
			g.phase = time.Duration(random.Int64N(int64(timing.Interval)))
		}
		g.last, g.reported, g.next = -time.Hour, -time.Hour, g.phase
		g.agent = p.newAgent(random)
		if !p.scrapesKubelets() && !p.readsPages {
			g.next = never
		}
	}
	return p
}

// Next implements Loop.
func (p *Plimsoll) Next() time.Duration {
	next := min(p.sampled, p.event, p.sync, p.floor.next)
	for i := range p.groups {
		next = min(next, p.groups[i].next, p.groups[i].agent.reads, p.groups[i].agent.asked)
	}
	for i := range p.servers {
		next = min(next, p.servers[i].next, p.servers[i].push)
	}
	if p.standIn != nil {
		next = min(next, p.standIn.next())
	}
	return next
}

// Act implements Loop.
func (p *Plimsoll) Act() {
	now := p.World.Now()
	if p.standIn != nil {
		p.standIn.act(p.World)
	}
	for i := range p.groups {
		p.serveAgent(i)
		if p.groups[i].next <= now {
			p.scrape(i)
		}
	}
	if p.World.Changed() {
		due := trigger.AfterEvent(p.World.Time(now), p.World.Time(p.decidedAt), time.Time{})
		p.event = min(p.event, due.Sub(p.World.Epoch()))
	}
	if p.moveFloor() {
		p.event = now
	}
	isNew := p.askServers()
	asks := p.sync <= now
	if !asks && !isNew && min(p.sampled, p.event) > now {
		return
	}
	if asks {
		p.sync += p.timing.Sync
	}
	sampled := isNew
	if p.sampled <= now+trigger.EventGap {
		p.sampled, sampled = never, true
	}
	p.event, p.decidedAt = never, now
	p.round.Decided(p.World.Time(now), trigger.RoundOf(p.timing.Interval))
	p.observation.Trigger = trigger.Event
	switch {
	case asks:
		p.observation.Trigger = trigger.Periodic
	case sampled:
		p.observation.Trigger = trigger.Samples
	}
	p.observe(asks)
	d := p.decide()
	p.followUp(d)
}

// scrape reads the counters of a group's pods. Only what is new leads to a decision.
func (p *Plimsoll) scrape(i int) {
	g, now := &p.groups[i], p.World.Now()
	if p.scrapesKubelets() && p.World.IsSilent(i) {
		g.failures++
	} else {
		g.answered(now)
	}
	isNew := false
	for _, pod := range p.World.Pods() {
		if pod.Group == i && p.readPod(now, pod) {
			isNew = true
		}
	}
	if isNew {
		p.report(g)
	}
	if g.failures > 0 && !p.readsPages {
		g.next = now + p.backoff(g.failures)
		return
	}
	// A group that was scraped early returns to its own offset in the period.
	for p.regular(i)-now < p.timing.Interval/2 {
		g.rounds++
	}
	g.next = p.regular(i)
}

// report has new samples of a group lead to a decision.
func (p *Plimsoll) report(g *group) {
	now := p.World.Now()
	for _, pod := range p.World.Pods() {
		if &p.groups[pod.Group] == g && pod.IsReady {
			p.round.Compare(use(pod))
		}
	}
	due, yes := p.round.Report(p.World.Time(now), p.World.Time(g.reported), p.nodes(),
		trigger.RoundOf(p.timing.Interval))
	if yes {
		p.sampled = min(p.sampled, due.Sub(p.World.Epoch()))
	}
	g.reported = now
}

// use returns the use of a pod by its newest samples alone.
func use(pod *world.Pod) (u trigger.Use) {
	for k := range pod.Containers {
		cpuMilli, memoryMilli := pod.Containers[k].History.Newest()
		u.CPUMilli, u.MemoryMilli = u.CPUMilli+cpuMilli, u.MemoryMilli+memoryMilli
	}
	return u
}

// readPod reads a pod's counters, and reports whether there is something new.
func (p *Plimsoll) readPod(now time.Duration, pod *world.Pod) (isNew bool) {
	for k := range pod.Containers {
		c := &pod.Containers[k]
		if r, isAny := pod.Scraped(c, now); isAny && p.scrapesKubelets() && !p.World.IsSilent(pod.Group) {
			isNew = c.History.Read(p.World.Epoch(), now, r) || isNew
		}
	}
	if p.readsPages {
		if r, runs := pod.Current(now); runs {
			isNew = pod.Page.Read(r) || isNew
		}
	}
	return isNew
}

// nodes is on how many of the groups there are pods.
func (p *Plimsoll) nodes() (n int) {
	clear(p.hasPods)
	for _, pod := range p.World.Pods() {
		if pod.IsPlaced && !p.hasPods[pod.Group] {
			p.hasPods[pod.Group] = true
			n++
		}
	}
	return n
}

// regular is when a group's next scrape is due that is not early, a little late each
// time.
func (p *Plimsoll) regular(i int) time.Duration {
	g := &p.groups[i]
	at := g.phase + time.Duration(g.rounds)*p.timing.Interval
	if p.timing.Aligned || p.timing.Jitter <= 0 {
		return at
	}
	return at + time.Duration(scatter(p.Seed^uint64(i)<<40^uint64(g.rounds))%uint64(p.timing.Jitter))
}

// scatter is the finaliser of splitmix64: a number that is as good as random.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func (p *Plimsoll) observe(asks bool) {
	p.observePods()
	p.observation.NewerAwaited = false
	var unknown error
	if p.readsKubelets {
		unknown = p.view.Look(p.World.Time(p.World.Now()), len(p.observation.Pods), p)
	}
	for i := range p.Policy.Metrics {
		spec := &p.Policy.Metrics[i]
		if p.isMissing(spec) {
			p.observation.Readings[i] = missing
			continue
		}
		switch {
		case isResource(spec):
			p.observeResource(i, unknown, asks)
			continue
		case spec.IsPodEndpoint():
			p.observeEndpoint(p.begin(i), spec)
			continue
		case isAsked(spec):
			continue
		}
		// In between, what was answered last is what is known; not of pods that have
		// come since.
		if r := &p.observation.Readings[i]; asks || spec.Type == source.Pods && len(r.Samples) != len(p.observation.Pods) {
			p.ask(i)
		}
	}
}

// followUp does what the decision asks for before the next one: it scrapes the groups
// early in which a surge is suspected, and decides again.
func (p *Plimsoll) followUp(d *horizontal.Decision) {
	next := d.FollowUp(&p.state, &p.observation, p.suspects[:0])
	p.suspects = next.Suspects
	if p.readsKubelets && !p.readsPages {
		p.round.Calm(next.Calm)
	}
	pods := p.World.Pods()
	for _, place := range p.suspects {
		g := &p.groups[pods[place].Group]
		g.next = min(g.next, max(p.World.Now(), g.last+trigger.EarlyScrapeGap))
	}
	if !next.DecideAt.IsZero() {
		p.sampled = min(p.sampled, next.DecideAt.Sub(p.World.Epoch()))
	}
	if !next.Forecast.IsZero() {
		p.sampled = min(p.sampled, next.Forecast.Sub(p.World.Epoch())+p.renewal)
	}
}
