package podendpoint

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// planPeriod is how often it is determined how many pods of each object are scraped.
	planPeriod = time.Second
	// unknownCost is what a scrape is taken to cost before any was measured.
	unknownCost = 50 * time.Microsecond
	// notable is by how much what scrapes cost must change before other pods are scraped for it: a pod
	// that leaves the sample loses its history.
	notable = 0.25
)

// budget is how many pods are scraped in one interval.
type budget struct {
	interval     time.Duration
	maxPerSecond float64
	maxCPU       float64
	// pods is how many could be scraped, as of the last plan, and rounded of those since.
	pods atomic.Int64
	// most is how many may be.
	most atomic.Int64
	// stretched is by how much intervals are longer, in thousandths.
	stretched atomic.Int64
	// series is how many series are remembered.
	series atomic.Int64

	// The following are the plan's alone. cost is what a scrape is taken to cost, smooth a moving
	// average of it.
	cost, smooth time.Duration
	totals       scrape.Totals
}

func (b *budget) begin(config *Config) {
	b.interval, b.maxPerSecond, b.maxCPU = config.Interval, config.MaxPerSecond, config.MaxCPU
	b.cost, b.smooth = unknownCost, unknownCost
	b.stretched.Store(1000)
	b.set()
}

// set sets how many pods may be scraped in an interval.
func (b *budget) set() {
	perSecond := min(b.maxPerSecond, b.maxCPU/b.cost.Seconds())
	b.most.Store(max(1, int64(perSecond*b.interval.Seconds())))
}

func (b *budget) stretch() float64 { return float64(b.stretched.Load()) / 1000 }

// first is how many of the pods of a page are in the sample until the next plan.
func (b *budget) first(pods int) int {
	if b.pods.Add(int64(pods)) <= b.most.Load() {
		return math.MaxInt
	}
	return max(1, sample.Least(pods))
}

// learn takes in what the scrapes since the last time cost.
func (b *budget) learn(now *scrape.Totals) {
	scrapes := float64(now.Scrapes - b.totals.Scrapes)
	if spent := now.CPU - b.totals.CPU; scrapes > 0 && spent > 0 {
		b.smooth += (time.Duration(float64(spent)/scrapes) - b.smooth) / 8
	}
	b.totals = *now
	if change := b.smooth.Seconds()/b.cost.Seconds() - 1; math.Abs(change) > notable {
		b.cost = max(b.smooth, time.Microsecond)
		b.set()
	}
}

// plan determines again and again how many pods of each page are scraped.
func (s *Source) plan(ctx context.Context) {
	for timing.Pause(ctx, planPeriod) == nil {
		now := time.Now()
		before, totals := s.budget.totals, s.rounds.Totals()
		s.metrics.heldBack(&before, &totals)
		s.budget.learn(&totals)
		s.share(s.expire(now))
		s.metrics.connections.Set(float64(s.client.Open()))
	}
}

// expire forgets what was not looked at for too long, and returns the pages that are left.
func (s *Source) expire(now time.Time) []*podPage {
	s.mu.Lock()
	objects := make([]*object, 0, len(s.objects))
	for _, o := range s.objects {
		objects = append(objects, o)
	}
	s.mu.Unlock()
	var pages []*podPage
	for _, o := range objects {
		o.mu.Lock()
		isLeft := o.expire(now)
		pages = append(pages, o.pages...)
		o.mu.Unlock()
		if !isLeft {
			s.Forget(o.key)
		}
	}
	return pages
}

// share gives each page its part of the budget.
func (s *Source) share(pages []*podPage) {
	pods := make([]int, len(pages))
	costs := make([]time.Duration, len(pages))
	total, count := 0, counts{}
	for i, p := range pages {
		p.object.mu.Lock()
		pods[i], costs[i] = p.pods, p.cost
		count.add(p)
		p.object.mu.Unlock()
		total += pods[i]
	}
	s.metrics.count(&count)
	s.budget.pods.Store(int64(total))
	most := s.budget.most.Load()
	if int64(total) <= most {
		s.budget.stretched.Store(1000)
		for _, p := range pages {
			p.setLimit(math.MaxInt)
		}
		return
	}
	capped := capCostly(pods, costs, s.config.MaxCPU*s.config.Interval.Seconds())
	sizes, stretch := sample.Sizes(capped, int(most))
	s.budget.stretched.Store(int64(stretch * 1000))
	for i, p := range pages {
		limit := sizes[i]
		if limit >= pods[i] {
			limit = math.MaxInt
		}
		p.setLimit(limit)
	}
}

func (p *podPage) setLimit(limit int) {
	p.object.mu.Lock()
	defer p.object.mu.Unlock()
	p.limit = limit
}
