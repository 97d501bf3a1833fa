package podendpoint

import (
	"math"
	"slices"
	"testing"
	"time"
)

const us = time.Microsecond

func demandOf(pods, pages int, cost time.Duration) *demand {
	var d demand
	for range pages {
		d.add("team-a", pods, cost, time.Millisecond)
	}
	return &d
}

func newBudget() *budget {
	var b budget
	config := Config{}.withDefaults()
	b.begin(&config)
	return &b
}

// All pods are scraped up to the budget, in number and in CPU.
func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		demand  *demand
		want    int
		stretch float64
	}{
		"10,000 pods":                       {demandOf(10, 1000, 50*us), math.MaxInt, 1},
		"pods that have not been scraped":   {demandOf(10, 1000, 0), math.MaxInt, 1},
		"more costly pages":                 {demandOf(10, 1000, 70*us), 7, 1.27},
		"20,000 pods in large objects":      {demandOf(1000, 20, 50*us), 427, 1},
		"100,000 pods in large objects":     {demandOf(1000, 100, 50*us), 84, 1},
		"100,000 pods in small objects":     {demandOf(10, 10_000, 50*us), 4, 5},
		"10,000 pods in one":                {demandOf(10_000, 1, 50*us), math.MaxInt, 1},
		"20,000 pods in one":                {demandOf(20_000, 1, 50*us), 8570, 1},
		"cheap pages, but too many of them": {demandOf(20_000, 1, us), 8570, 1},
	} {
		b := newBudget()
		got := b.share(c.demand)
		if (got == nil) != (c.want == math.MaxInt) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if len(got) > 0 && (got[0].pods/10 != c.want/10 || math.Abs(got[0].stretch-c.stretch) > 0.1) {
			t.Errorf("%s: %v", name, got[0])
		}
	}
}

// Large pages make their own samples small, and stay so.
func TestLargePagesDoNotCountForOthers(t *testing.T) {
	b := newBudget()
	for range 5 {
		d := demandOf(10, 100, 50*us)
		d.add("team-a", 1000, 5*time.Millisecond, time.Millisecond)
		got := b.share(d)
		others := got[:100]
		if got[100].pods != 1 || slices.ContainsFunc(others, func(l limits) bool { return l != unlimited }) {
			t.Fatalf("%v", got)
		}
	}
}

// A namespace with many pages, or costly ones, shares its own part of the budget. It costs others nothing.
func TestNamespacesShare(t *testing.T) {
	for _, c := range []struct {
		pages, pods int
		cost        time.Duration
		isLimited   bool
	}{
		{0, 3, 40 * us, false}, {1000, 3, 40 * us, false}, {3400, 3, 40 * us, true}, {10_000, 3, 40 * us, true},
		{20_000, 3, 40 * us, true}, {600, 3, 400 * us, true}, {1000, 100, 400 * us, true}, {10, 100_000, us, true},
	} {
		b := newBudget()
		var d demand
		for range 100 {
			d.add("team-a", 10, 40*us, time.Millisecond)
		}
		for range c.pages {
			d.add("hostile", c.pods, c.cost, time.Millisecond)
		}
		for range 2 {
			got := b.share(&d)
			if c.isLimited != (got != nil) {
				t.Errorf("%+v: limited: %t", c, got != nil)
			}
			if got == nil {
				continue
			}
			if slices.ContainsFunc(got[:100], func(l limits) bool { return l != unlimited }) {
				t.Errorf("%+v: %v of another namespace", c, got[0])
			}
			scrapes, cpu := 0.0, 0.0
			for i, l := range got {
				n := min(float64(d.pods[i]), float64(l.pods)) / l.stretch
				scrapes += n
				cpu += n * d.costs[i].Seconds()
			}
			if scrapes > 1.1*float64(b.scrapes) || cpu > 1.1*b.cpu.Seconds() {
				t.Errorf("%+v: %.0f scrapes in an interval, %.3f s of CPU", c, scrapes, cpu)
			}
		}
	}
}

// Namespaces that all need more than their part get the same.
func TestNamespacesGetEqualParts(t *testing.T) {
	b := newBudget()
	var d demand
	for i := range 40 {
		d.add([]string{"team-a", "team-b"}[i%2], 1000, 50*us, time.Millisecond)
	}
	d.add("small", 50, 50*us, time.Millisecond)
	got := b.share(&d)
	if got[0] != got[1] || got[0].pods < 200 || got[0].pods > 250 || got[40] != unlimited {
		t.Errorf("%v, %v, %v", got[0], got[1], got[40])
	}
}

// The cost of scrapes varies; the sample does not follow every change.
func TestSharesAreSteady(t *testing.T) {
	b := newBudget()
	first := b.share(demandOf(1000, 20, 60*us))
	for i := range 20 {
		if got := b.share(demandOf(1000, 20, time.Duration(55+i%10)*us)); !slices.Equal(got, first) {
			t.Errorf("%v, before %v", got[0], first[0])
		}
	}
	if got := b.share(demandOf(1000, 20, 600*us)); got[0].pods >= first[0].pods {
		t.Errorf("ten times as costly: %v, before %v", got[0], first[0])
	}
	// At the limit.
	if b = newBudget(); b.share(demandOf(10, 1000, 51*us)) == nil || b.share(demandOf(10, 1000, 49*us)) == nil ||
		b.share(demandOf(10, 1000, 47*us)) != nil || b.share(demandOf(10, 1000, 49*us)) != nil {
		t.Error("it flaps at the limit")
	}
}
