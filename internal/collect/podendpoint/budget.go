package podendpoint

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// planPeriod is the period at which the number of scraped pods of each object is determined.
	planPeriod = time.Second
	// unknownCost is the assumed cost of a scrape before the first measurement.
	unknownCost = 40 * time.Microsecond
	// notable is the relative change of the cost of scrapes that changes the sample: a pod that leaves the sample loses
	// its history.
	notable = 0.25
	// enough is the fraction of the CPU below which all pods are scraped again.
	enough = 0.95
)

// budget limits the pods that are scraped in one interval.
type budget struct {
	// scrapes and cpu are the budget of one interval.
	scrapes int
	cpu     time.Duration
	// slow bounds the total duration of scrapes of slow pages in one interval.
	slow time.Duration
	// pods counts the pods with pages, as of the last plan with those of new pages since.
	pods atomic.Int64
	// series counts the series of all histories.
	series atomic.Int64

	// Only plan uses the following. isShort is true if not all pods are scraped; costs are then the planned costs of the
	// scrapes of each namespace.
	isShort bool
	costs   map[string]*namespaceCosts
}

func (b *budget) begin(config *Config) {
	b.scrapes = max(1, int(config.MaxPerSecond*config.Interval.Seconds()))
	b.cpu = time.Duration(config.MaxCPU * float64(config.Interval))
	b.slow = time.Duration(slowPerConcurrent*config.MaxConcurrent) * config.Interval
}

// first returns the size of a page's sample until the next plan.
func (b *budget) first(pods int) int {
	if all := b.pods.Add(int64(pods)); all <= int64(b.scrapes) && time.Duration(all)*unknownCost <= b.cpu {
		return math.MaxInt
	}
	return max(1, sample.Least(pods))
}

// demand is the cost of scraping all pods.
type demand struct {
	pods []int
	// costs is the CPU of one scrape of each page, took its duration.
	costs, took []time.Duration
	// namespaces has the namespaces of the pages' objects.
	namespaces []string
}

func (d *demand) add(namespace string, pods int, cost, took time.Duration) {
	if cost == 0 {
		cost = unknownCost
	}
	d.pods, d.costs, d.took = append(d.pods, pods), append(d.costs, cost), append(d.took, took)
	d.namespaces = append(d.namespaces, namespace)
}

// sum returns the number of pods of all pages, and their cost.
func (d *demand) sum(pods []int) (total int, cpu time.Duration) {
	for i, n := range pods {
		total += n
		cpu += time.Duration(n) * d.costs[i]
	}
	return total, cpu
}

// sumOf is sum for some of the pages.
func (d *demand) sumOf(pages, pods []int) (total int, cpu time.Duration) {
	for _, i := range pages {
		total += pods[i]
		cpu += time.Duration(pods[i]) * d.costs[i]
	}
	return total, cpu
}

// limits are the limits of a page: the size of its sample, and the factor by which its interval is longer.
type limits struct {
	pods    int
	stretch float64
}

// unlimited is all pods in each interval.
var unlimited = limits{pods: math.MaxInt, stretch: 1}

// share returns the limits of each page, nil if all pods are scraped.
func (b *budget) share(d *demand) []limits {
	all, _ := d.sum(d.pods)
	b.pods.Store(int64(all))
	pods := d.capSlow(b.slow)
	total, cpu := d.sum(pods)
	part := cpu.Seconds() / b.cpu.Seconds()
	if total > b.scrapes || part > 1 || b.isShort && part > enough {
		b.isShort = true
		return b.shareOut(d, pods)
	}
	b.isShort, b.costs = false, nil
	if total == all {
		return nil
	}
	shares := make([]limits, len(pods))
	for i := range shares {
		shares[i] = d.limit(i, pods[i], 1)
	}
	return shares
}

// roundStretch rounds up, so that moments do not change with every pod.
func roundStretch(stretch float64) float64 { return math.Ceil(4*stretch) / 4 }

// limit returns the limits of a page. A sample of all pods remains one when pods are added.
func (d *demand) limit(page, pods int, stretch float64) limits {
	if pods >= d.pods[page] {
		pods = math.MaxInt
	}
	return limits{pods: pods, stretch: stretch}
}

// plan determines each planPeriod how many pods of each page are scraped.
func (s *Source) plan(ctx context.Context) {
	var before scrape.Totals
	for timing.Pause(ctx, planPeriod) == nil {
		totals := s.rounds.Totals()
		s.metrics.heldBack(&before, &totals)
		before = totals
		s.share(s.pages())
		s.metrics.connections.Set(float64(s.client.Open()))
	}
}

func (s *Source) pages() []*podPage {
	s.mu.Lock()
	objects := slices.Collect(maps.Values(s.objects))
	s.mu.Unlock()
	var pages []*podPage
	for _, o := range objects {
		o.mu.Lock()
		pages = append(pages, o.pages...)
		o.mu.Unlock()
	}
	return pages
}

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
	shares := s.budget.share(&d)
	loads := map[*object]float64{}
	for i, p := range pages {
		limit := unlimited
		if shares != nil {
			limit = shares[i]
		}
		loads[p.object] += s.budget.part(min(limit.pods, d.pods[i]), d.costs[i])
		p.stretched.Store(int64(roundStretch(limit.stretch) * 1000))
		p.object.mu.Lock()
		p.limit = limit.pods
		p.object.mu.Unlock()
	}
	for _, p := range pages {
		p.spread.Store(int64(spreadOf(loads[p.object], s.config.Interval)))
	}
}

// part returns the fraction of an interval's budget for scraping this many pods.
func (b *budget) part(pods int, cost time.Duration) float64 {
	return float64(pods) * max(1/float64(b.scrapes), cost.Seconds()/b.cpu.Seconds())
}

// spreadOf returns the time within which to scrape the pods of an object that take a fraction of an interval's budget:
// at least twice that fraction of the interval, so that others need not wait for them. It is a power of two times
// leastSpread, because phases change with it.
func spreadOf(part float64, interval time.Duration) time.Duration {
	spread := leastSpread
	for spread.Seconds() < 2*part*interval.Seconds() {
		spread *= 2
	}
	return spread
}
