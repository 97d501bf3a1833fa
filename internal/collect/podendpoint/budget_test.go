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
		if c.want == math.MaxInt && got != nil || c.want != math.MaxInt && (len(got) == 0 || got[0]/10 != c.want/10) ||
			math.Abs(b.stretch()-c.stretch) > 0.1 {
			t.Errorf("%s: %v, stretched by %g", name, got, b.stretch())
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
		if got[100] != 1 || slices.ContainsFunc(others, func(n int) bool { return n != math.MaxInt }) {
			t.Fatalf("%v", got)
		}
	}
}

// What scrapes cost varies; which pods are scraped does not follow every change.
func TestSharesAreSteady(t *testing.T) {
	b := newBudget()
	first := b.share(demandOf(1000, 20, 60*us))
	for i := range 20 {
		if got := b.share(demandOf(1000, 20, time.Duration(55+i%10)*us)); !slices.Equal(got, first) {
			t.Errorf("%v, before %v", got[0], first[0])
		}
	}
	if got := b.share(demandOf(1000, 20, 600*us)); got[0] >= first[0] {
		t.Errorf("ten times as costly: %v, before %v", got[0], first[0])
	}
	// At the limit.
	if b = newBudget(); b.share(demandOf(10, 1000, 51*us)) == nil || b.share(demandOf(10, 1000, 49*us)) == nil ||
		b.share(demandOf(10, 1000, 47*us)) != nil || b.share(demandOf(10, 1000, 49*us)) != nil {
		t.Error("it goes to and fro at the limit")
	}
}
