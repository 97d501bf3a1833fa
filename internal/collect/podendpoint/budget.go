package podendpoint

import (
	"context"
	"math"
	"slices"
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
	unknownCost = 40 * time.Microsecond
	// notable is by how much what scrapes cost must change before other pods are scraped for it: a pod
	// that leaves the sample loses its history.
	notable = 0.25
	// enough is the part of the CPU below which all pods are scraped again.
	enough = 0.95
)

// budget is how many pods are scraped in one interval.
type budget struct {
	// scrapes and cpu may be spent in one interval.
	scrapes int
	cpu     time.Duration
	// slow is how long scrapes of slow pages may take together in one interval.
	slow time.Duration
	// pods is how many could be scraped, as of the last plan with those of new pages since.
	pods atomic.Int64
	// stretched is by how much intervals are longer, in thousandths.
	stretched atomic.Int64
	// series is how many series are remembered.
	series atomic.Int64

	// The following are the plan's alone. isShort says that not all pods are scraped; cost is what a
	// scrape is taken to cost then.
	isShort bool
	cost    time.Duration
}

func (b *budget) begin(config *Config) {
	b.scrapes = max(1, int(config.MaxPerSecond*config.Interval.Seconds()))
	b.cpu = time.Duration(config.MaxCPU * float64(config.Interval))
	b.slow = time.Duration(slowPerConcurrent*config.MaxConcurrent) * config.Interval
	b.stretched.Store(1000)
}

func (b *budget) stretch() float64 { return float64(b.stretched.Load()) / 1000 }

// first is how many of the pods of a page are in the sample until the next plan.
func (b *budget) first(pods int) int {
	if all := b.pods.Add(int64(pods)); all <= int64(b.scrapes) && time.Duration(all)*unknownCost <= b.cpu {
		return math.MaxInt
	}
	return max(1, sample.Least(pods))
}

// demand is what scraping all pods would take.
type demand struct {
	pods []int
	// costs is the CPU of one scrape of each page, took how long it takes.
	costs, took []time.Duration
	// namespaces are those of the pages' objects.
	namespaces []string
}

func (d *demand) add(namespace string, pods int, cost, took time.Duration) {
	if cost == 0 {
		cost = unknownCost
	}
	d.pods, d.costs, d.took = append(d.pods, pods), append(d.costs, cost), append(d.took, took)
	d.namespaces = append(d.namespaces, namespace)
}

// sum is how many pods there are of all pages, and what they cost.
func (d *demand) sum(pods []int) (total int, cpu time.Duration) {
	for i, n := range pods {
		total += n
		cpu += time.Duration(n) * d.costs[i]
	}
	return total, cpu
}

// sizes are those of samples, of which one of all pods stays one when there are more.
func (d *demand) sizes(pods []int) []int {
	sizes := slices.Clone(pods)
	for i := range sizes {
		if sizes[i] >= d.pods[i] {
			sizes[i] = math.MaxInt
		}
	}
	return sizes
}

// share is how many pods of each page are in the sample, nil if all are.
func (b *budget) share(d *demand) []int {
	all, _ := d.sum(d.pods)
	b.pods.Store(int64(all))
	pods := d.capSlow(b.slow)
	total, cpu := d.sum(pods)
	part := cpu.Seconds() / b.cpu.Seconds()
	if total <= b.scrapes && (part <= enough || !b.isShort && part <= 1) {
		b.isShort, b.cost = false, 0
		b.stretched.Store(1000)
		if total == all {
			return nil
		}
		return d.sizes(pods)
	}
	b.isShort = true
	pods = capCostly(pods, d.costs, b.cpu)
	total, cpu = d.sum(pods)
	cost := cpu / time.Duration(max(1, total))
	if change := cost.Seconds()/max(b.cost.Seconds(), 1e-9) - 1; math.Abs(change) > notable {
		b.cost = max(cost, 1)
	}
	sizes, stretch := sample.Sizes(pods, min(b.scrapes, int(b.cpu/b.cost)))
	b.stretched.Store(int64(stretch * 1000))
	return d.sizes(sizes)
}

// plan determines again and again how many pods of each page are scraped.
func (s *Source) plan(ctx context.Context) {
	var before scrape.Totals
	for timing.Pause(ctx, planPeriod) == nil {
		totals := s.rounds.Totals()
		s.metrics.heldBack(&before, &totals)
		before = totals
		s.share(s.expire(time.Now()))
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
		if !o.expire(now) {
			s.drop(o)
		}
		pages = append(pages, o.pages...)
		o.mu.Unlock()
	}
	return pages
}

// share gives each page its part of the budget.
func (s *Source) share(pages []*podPage) {
	var d demand
	var c counts
	for _, p := range pages {
		p.object.mu.Lock()
		d.add(p.object.key.Namespace, p.pods, p.cost, p.plannedTook())
		c.add(p)
		p.object.mu.Unlock()
	}
	s.metrics.count(&c)
	sizes := s.budget.share(&d)
	for i, p := range pages {
		limit := math.MaxInt
		if sizes != nil {
			limit = sizes[i]
		}
		p.object.mu.Lock()
		p.limit = limit
		p.object.mu.Unlock()
	}
}
