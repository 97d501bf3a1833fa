package history

import "time"

// Change is a scale event: by how many replicas, always positive.
type Change struct {
	Time     time.Time `json:"time"`
	Replicas int32     `json:"replicas"`
	// Outdated entries are beyond the longest period and may be replaced. As upstream, a marked change stays marked, but
	// counts again if a longer period includes it.
	Outdated bool `json:"outdated,omitempty"`
}

// Changes are the scale events of one direction.
type Changes []Change

// Add stores a change at now, in the place of an outdated one where there is
// one (upstream: storeScaleEvent).
func (c Changes) Add(now time.Time, replicas int32, longest time.Duration) Changes {
	cutoff, free := now.Add(-longest), -1
	for i := range c {
		if c[i].Time.Before(cutoff) {
			c[i].Outdated = true
		}
		if c[i].Outdated {
			free = i
		}
	}
	change := Change{Time: now, Replicas: replicas}
	if free < 0 {
		return append(c, change)
	}
	c[free] = change
	return c
}

// Within returns the sum of the changes that are younger than period.
func (c Changes) Within(now time.Time, period time.Duration) int64 {
	if len(c) == 0 {
		return 0
	}
	cutoff := now.Add(-period)
	var sum int64
	for i := range c {
		if c[i].Time.After(cutoff) {
			sum += int64(c[i].Replicas)
		}
	}
	return sum
}
