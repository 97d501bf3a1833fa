package scrape

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func some(names ...int) []kubelet.Target {
	var all []kubelet.Target
	for _, n := range names {
		all = append(all, kubelet.Target{Node: fmt.Sprintf("node-%d", n)})
	}
	return all
}

// TestPlanKeepsItsBounds: after any sequence of calls, a node is in exactly one place, the budget holds over every
// stretch of time, urgent or not, and a plan that makes Run wait returns for how long. The cost of a scrape is measured
// at its end, so that scrapes under way may exceed the bound on CPU.
func TestPlanKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config[kubelet.Target]{
			MaxPerSecond:  float64(rapid.IntRange(1, 300).Draw(t, "per second")),
			MaxCPU:        float64(rapid.IntRange(1, 2000).Draw(t, "milli-cores")) / 1000,
			MaxConcurrent: rapid.IntRange(1, 30).Draw(t, "at a time"),
		}.withDefaults()
		groups := rapid.IntRange(1, 4).Draw(t, "groups")
		config.Group = func(target kubelet.Target) string {
			return strconv.Itoa(int(target.Node[len(target.Node)-1]) % groups)
		}
		p := newPlan(config)
		now := noon
		var running []*entry[kubelet.Target]
		var started []time.Time
		cost := map[*entry[kubelet.Target]]int{} // index in spent
		var spent []time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "millis")) * time.Millisecond)
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				p.set(now, some(rapid.SliceOfDistinct(rapid.IntRange(0, 30), rapid.ID).Draw(t, "nodes")...))
			case 1:
				p.changeOne(t, now)
			case 2, 3:
				if len(running) == 0 {
					break
				}
				var err error
				if rapid.Bool().Draw(t, "fails") {
					err = errors.New("no")
				}
				cpu := time.Duration(rapid.IntRange(0, int(mostCost/time.Microsecond)).Draw(t, "cpu")) * time.Microsecond
				spent[cost[running[0]]] = cpu
				p.done(now, running[0], cpu, err)
				running = running[1:]
			default:
				e, cancelled, wait := p.next(now)
				running = p.cancel(t, now, cancelled, running)
				if e != nil {
					running, started, spent = append(running, e), append(started, now), append(spent, 0)
					cost[e] = len(spent) - 1
				} else if wait == 0 && len(running) == 0 && len(p.targets) > 0 {
					t.Fatal("nothing to wait for, and nodes to scrape")
				}
			}
			p.check(t, running)
		}
		// As many scrapes as run at a time may cost more than their estimates, as many from before less, and one more begins
		// at the end.
		slack := float64(2*(1+slowPerSlot)*config.MaxConcurrent+1) * mostCost.Seconds()
		for i := range started {
			cpu := 0.0
			for j := i; j < len(started); j++ {
				took := started[j].Sub(started[i])
				if n, most := float64(j-i+1), p.budget.mostScrapes()+took.Seconds()*config.MaxPerSecond; n > most+1e-6 {
					t.Fatalf("%g scrapes began within %s", n, took)
				}
				cpu += spent[j].Seconds()
				if most := p.budget.mostCPU() + took.Seconds()*config.MaxCPU + slack; cpu > most+1e-6 {
					t.Fatalf("%g s of CPU for what began within %s, at most %g", cpu, took, most)
				}
			}
		}
	})
}

// changeOne adds, removes or retries one target, or makes it urgent.
func (p *plan[T]) changeOne(t *rapid.T, now time.Time) {
	target, _ := any(some(rapid.IntRange(0, 30).Draw(t, "target"))[0]).(T)
	e := p.targets[target.Key()]
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		if e = p.add(target); e != nil {
			p.schedule(e, now, &p.regular, now)
		}
	case 1:
		if e != nil {
			p.remove(e)
		}
	case 2:
		p.retry(now, target.Key())
	default:
		p.mark(now, target.Key())
	}
}

// cancel ends the scrapes that the plan cancelled, and returns those still under way.
func (p *plan[T]) cancel(t *rapid.T, now time.Time, cancelled, running []*entry[T]) []*entry[T] {
	for _, e := range cancelled {
		if e.state.IsFailing() || now.Sub(e.state.Started) < p.config.SlowAfter {
			t.Fatalf("%+v is cancelled", e)
		}
		running = without(running, e)
		p.done(now, e, 0, errors.New("cancelled"))
	}
	return running
}

// mostCost is the highest cost of a scrape here.
const mostCost = 5 * time.Millisecond

func (p *plan[T]) check(t *rapid.T, running []*entry[T]) {
	failing := 0
	for _, e := range running {
		if e.queue != nil {
			t.Fatalf("%s runs and waits", e.state.Target.Key())
		}
		if e.state.IsFailing() {
			failing++
		}
	}
	p.checkSlots(t, len(running), failing)
	waiting := 0
	in := map[*queue[T]]int{}
	for _, e := range p.targets {
		if e.queue == nil {
			continue
		}
		if e.state.IsFailing() != (e.queue == &p.failing || e.queue == &e.tenant.parked) {
			t.Fatalf("%+v is not where it should be", e)
		}
		in[e.queue]++
	}
	queues := []*queue[T]{&p.regular, &p.urgent, &p.failing}
	queues = append(queues, p.checkRetries(t, failing)...)
	for _, q := range queues {
		if q.Len() != in[q] || q.Len() > 0 && p.targets[q.First().state.Target.Key()] != q.First() {
			t.Fatalf("a queue has %d nodes, of which %d know", q.Len(), in[q])
		}
		waiting += q.Len()
	}
	if waiting+len(running) != len(p.targets) {
		t.Fatalf("%d wait, %d run, of %d", waiting, len(running), len(p.targets))
	}
}

// checkRetries returns the queues of failing targets.
func (p *plan[T]) checkRetries(t *rapid.T, underWay int) (queues []*queue[T]) {
	count := map[*tenant[T]]int{}
	for _, e := range p.targets {
		if e.state.IsFailing() {
			count[e.tenant]++
		}
	}
	targets := 0
	for _, one := range p.tenants.byName {
		queues = append(queues, &one.parked)
		if one.retries == 0 && one.parked.Len() > 0 {
			t.Fatalf("of tenant %q %d are parked and none is scraped", one.name, one.parked.Len())
		}
		if one.failing != count[one] {
			t.Fatalf("of tenant %q %d fail, not %d", one.name, count[one], one.failing)
		}
		underWay -= one.retries
		targets += one.targets
	}
	if underWay != 0 || len(count) != p.tenants.failing || targets != len(p.targets) {
		t.Fatalf("%d that failed are scraped and count for no tenant; %d tenants fail, not %d; they have %d targets, not %d",
			underWay, len(count), p.tenants.failing, targets, len(p.targets))
	}
	return queues
}

func (p *plan[T]) checkSlots(t *rapid.T, running, failing int) {
	quick, slow := len(p.slots.running), len(p.slots.slow)
	if quick+slow != running || quick > p.config.MaxConcurrent || slow > slowPerSlot*p.config.MaxConcurrent {
		t.Fatalf("%d run, the plan says %d, and %d slow ones, of %d", running, quick, slow, p.config.MaxConcurrent)
	}
	if p.slots.retries != failing || failing > max(1, p.config.MaxConcurrent/4) {
		t.Fatalf("%d that failed run, the plan says %d, of %d", failing, p.slots.retries, p.config.MaxConcurrent)
	}
}

// TestRetriesOfManyTenants: with a failed target in each tenant, all tenants together have no more slots than there are
// for retries.
func TestRetriesOfManyTenants(t *testing.T) {
	p := newPlan(Config[kubelet.Target]{
		MaxConcurrent: 8, Group: func(target kubelet.Target) string { return target.Node },
	}.withDefaults())
	p.set(noon, some(0, 1, 2, 3, 4, 5, 6, 7))
	now := noon.Add(time.Second)
	start := func() (started []*entry[kubelet.Target]) {
		for e, _, _ := p.next(now); e != nil; e, _, _ = p.next(now) {
			started = append(started, e)
		}
		return started
	}
	for _, e := range start() {
		p.done(now, e, 0, errors.New("no"))
	}
	now = now.Add(time.Minute)
	if n := len(start()); n != 2 {
		t.Errorf("%d of 8 are tried again at a time, want a quarter", n)
	}
}

// BenchmarkPlan measures the plan's part of one scrape, among 1000 nodes.
func BenchmarkPlan(b *testing.B) {
	p := newPlan(Config[kubelet.Target]{}.withDefaults())
	names := make([]int, 1000)
	for i := range names {
		names[i] = i
	}
	p.set(noon, some(names...))
	now := noon
	b.ReportAllocs()
	for b.Loop() {
		for {
			e, _, wait := p.next(now)
			if e != nil {
				p.done(now, e, 0, nil)
				break
			}
			now = now.Add(wait)
		}
	}
}
