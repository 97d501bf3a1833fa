package podendpoint

import (
	"cmp"
	"slices"
	"time"
)

// slowPerConcurrent is how many scrapes of slow pages may be under way for each of MaxConcurrent. Package
// scrape allows three; the rest is for pods that fall silent.
const slowPerConcurrent = 2

// capSlow is how many pods of each page may be scraped, whose scrapes took so long. Those of slow pages may
// together take the given time in each interval. Beyond it the pages that take most of it get equal parts, so
// that pages that take long make their own samples small, and the others are scraped in time.
func capSlow(pods []int, took []time.Duration, all time.Duration) []int {
	need := func(i int) time.Duration { return time.Duration(pods[i]) * took[i] }
	var slow []int
	var total time.Duration
	for i := range pods {
		if took[i] >= slowAfter {
			slow = append(slow, i)
			total += need(i)
		}
	}
	if total <= all {
		return pods
	}
	slices.SortFunc(slow, func(a, b int) int { return cmp.Compare(need(a), need(b)) })
	capped := slices.Clone(pods)
	for n, i := range slow {
		if part := all / time.Duration(len(slow)-n); need(i) > part {
			capped[i] = min(pods[i], max(1, int(part/took[i])))
		}
		all = max(0, all-time.Duration(capped[i])*took[i])
	}
	return capped
}
