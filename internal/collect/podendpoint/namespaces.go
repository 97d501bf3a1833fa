package podendpoint

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
)

// namespaceCosts are the planned average costs of the scrapes of a namespace's pods: with all its pages as they are,
// and with its costly pages capped. They change only with a notable change of the cost.
type namespaceCosts struct{ all, capped time.Duration }

// steady returns the planned cost, which follows the current one when the change is notable.
func steady(planned *time.Duration, now time.Duration) time.Duration {
	if change := now.Seconds()/max(planned.Seconds(), 1e-9) - 1; math.Abs(change) > notable {
		*planned = max(now, 1)
	}
	return *planned
}

// pagesOf has the pages of a namespace, and the fraction of the budget for scraping all of their pods.
type pagesOf struct {
	costs *namespaceCosts
	pages []int
	need  float64
}

// shareOut returns the limits of each page if the budget does not suffice for all. Namespaces that need less than an
// equal part of it have all of their pods scraped. The others get equal parts of the rest, so that their own samples
// become smaller and their own intervals longer.
func (b *budget) shareOut(d *demand, pods []int) []limits {
	namespaces := b.byNamespace(d, pods)
	shares := make([]limits, len(pods))
	left := 1.0
	for n, of := range namespaces {
		part := left / float64(len(namespaces)-n)
		if of.need <= part {
			left -= of.need
			for _, page := range of.pages {
				shares[page] = d.limit(page, pods[page], 1)
			}
			continue
		}
		left -= part
		b.shareWithin(d, pods, of, part, shares)
	}
	return shares
}

// byNamespace returns the pages by namespace, the smallest need first.
func (b *budget) byNamespace(d *demand, pods []int) []*pagesOf {
	found := map[string]*pagesOf{}
	costs := make(map[string]*namespaceCosts, len(b.costs))
	var namespaces []*pagesOf
	for i, namespace := range d.namespaces {
		of := found[namespace]
		if of == nil {
			of = &pagesOf{costs: cmp.Or(b.costs[namespace], &namespaceCosts{})}
			found[namespace], costs[namespace] = of, of.costs
			namespaces = append(namespaces, of)
		}
		of.pages = append(of.pages, i)
	}
	b.costs = costs
	for _, of := range namespaces {
		scrapes, cpu := d.sumOf(of.pages, pods)
		if scrapes == 0 {
			continue
		}
		cost := steady(&of.costs.all, cpu/time.Duration(scrapes))
		of.need = b.part(scrapes, cost)
	}
	slices.SortStableFunc(namespaces, func(a, b *pagesOf) int { return cmp.Compare(a.need, b.need) })
	return namespaces
}

// shareWithin shares a part of the budget among the pages of a namespace.
func (b *budget) shareWithin(d *demand, pods []int, of *pagesOf, part float64, shares []limits) {
	cpu := time.Duration(part * float64(b.cpu))
	wanted := make([]int, len(of.pages))
	costs := make([]time.Duration, len(of.pages))
	for i, page := range of.pages {
		wanted[i], costs[i] = pods[page], d.costs[page]
	}
	wanted = capCostly(wanted, costs, cpu)
	scrapes, spent := 0, time.Duration(0)
	for i, n := range wanted {
		scrapes += n
		spent += time.Duration(n) * costs[i]
	}
	cost := steady(&of.costs.capped, spent/time.Duration(max(1, scrapes)))
	sizes, stretch := sample.Sizes(wanted, min(int(part*float64(b.scrapes)), int(cpu/cost)))
	for i, page := range of.pages {
		shares[page] = d.limit(page, sizes[i], stretch)
	}
}
