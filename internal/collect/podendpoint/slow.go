package podendpoint

import (
	"cmp"
	"slices"
	"time"
)

// slowPerConcurrent is the number of scrapes of slow pages for each of MaxConcurrent. Package scrape allows three; the
// rest is for pods that fall silent.
const slowPerConcurrent = 2

// capSlow returns how many pods of each page may be scraped. Those of slow pages together may take the given time in
// each interval. Beyond it the namespaces that take most of it get equal parts, and within each its pages, so that
// pages that take long make their own samples small, and the others are scraped in time.
func (d *demand) capSlow(all time.Duration) []int {
	needs := map[string]time.Duration{}
	slow := map[string][]int{}
	var namespaces []string
	var total time.Duration
	for i, took := range d.took {
		if took >= slowAfter {
			of := d.namespaces[i]
			if slow[of] == nil {
				namespaces = append(namespaces, of)
			}
			slow[of] = append(slow[of], i)
			needs[of] += d.slowNeed(i)
			total += d.slowNeed(i)
		}
	}
	if total <= all {
		return d.pods
	}
	capped := slices.Clone(d.pods)
	slices.SortFunc(namespaces, func(a, b string) int {
		return cmp.Or(cmp.Compare(needs[a], needs[b]), cmp.Compare(a, b))
	})
	for n, of := range namespaces {
		part := all / time.Duration(len(namespaces)-n)
		all = max(0, all-d.capPages(capped, slow[of], min(part, needs[of])))
	}
	return capped
}

// slowNeed is the time for scraping all pods of a page.
func (d *demand) slowNeed(page int) time.Duration { return time.Duration(d.pods[page]) * d.took[page] }

// capPages caps these pages, so that together they take the given time, and returns the time that they take: each keeps
// a pod.
func (d *demand) capPages(capped, pages []int, all time.Duration) (taken time.Duration) {
	slices.SortFunc(pages, func(a, b int) int { return cmp.Compare(d.slowNeed(a), d.slowNeed(b)) })
	for n, i := range pages {
		if part := (all - taken) / time.Duration(len(pages)-n); d.slowNeed(i) > part {
			capped[i] = min(d.pods[i], max(1, int(part/d.took[i])))
		}
		taken += time.Duration(capped[i]) * d.took[i]
	}
	return taken
}
