// Package history keeps the past that a decision uses: recommendations within stabilization windows, and scale events
// within the periods of rate policies.
package history

import (
	"slices"
	"time"
)

// Recommendation is a proposed replica count of the past, before stabilization.
type Recommendation struct {
	Time     time.Time `json:"time"`
	Replicas int32     `json:"replicas"`
}

// Recommendations finds the largest and the smallest recommendation of any window that ends now. It keeps two monotonic
// deques: an entry that a later one exceeds can never be the result of any window again, and is dropped. The number of
// remaining entries depends on how often the proposed count changes direction, not on the number of decisions.
type Recommendations struct {
	// Highs decrease and Lows increase from oldest to newest.
	Highs []Recommendation `json:"highs,omitempty"`
	Lows  []Recommendation `json:"lows,omitempty"`
	// Slots are upstream's list, in which one decision frees at most one entry:
	// see Overwrite.
	Slots []Recommendation `json:"slots,omitempty"`
	// Passing is like Highs, for counts that only the last few seconds asked for. They expire sooner.
	Passing []Recommendation `json:"passing,omitempty"`
}

// Empty reports whether there are no recommendations.
func (r *Recommendations) Empty() bool { return len(r.Highs) == 0 && len(r.Slots) == 0 }

// Add stores a recommendation that is not older than those before it.
func (r *Recommendations) Add(now time.Time, replicas int32) { r.AddBoth(now, replicas, replicas) }

// AddBoth stores a recommendation that counts as high in the search for the highest, and
// as low in the search for the lowest.
func (r *Recommendations) AddBoth(now time.Time, high, low int32) {
	r.AddHigh(now, high)
	n := len(r.Lows)
	for n > 0 && r.Lows[n-1].Replicas >= low {
		n--
	}
	r.Lows = append(r.Lows[:n], Recommendation{Time: now, Replicas: low})
}

// AddHigh stores a recommendation that counts in the search for the highest alone.
func (r *Recommendations) AddHigh(now time.Time, replicas int32) {
	r.Highs = addHigh(r.Highs, Recommendation{Time: now, Replicas: replicas})
}

// AddPassing stores a count that only the surge window asks for.
func (r *Recommendations) AddPassing(now time.Time, replicas int32) {
	r.Passing = addHigh(r.Passing, Recommendation{Time: now, Replicas: replicas})
}

// HighestPassing returns the largest passing recommendation since then.
func (r *Recommendations) HighestPassing(since time.Time) (Recommendation, bool) {
	return first(r.Passing, func(t time.Time) bool { return !t.Before(since) })
}

// IsPassing reports whether an entry is a passing recommendation.
func (r *Recommendations) IsPassing(e Recommendation) bool {
	return slices.Contains(r.Passing, e) && !slices.Contains(r.Highs, e)
}

// ExpirePassing drops the passing recommendations before then.
func (r *Recommendations) ExpirePassing(cutoff time.Time) { r.Passing = expire(r.Passing, cutoff) }

func addHigh(highs []Recommendation, entry Recommendation) []Recommendation {
	n := len(highs)
	for n > 0 && highs[n-1].Replicas <= entry.Replicas {
		n--
	}
	return append(highs[:n], entry)
}

// Overwrite stores a recommendation as upstream does (pkg/controller/ podautoscaler/horizontal.go,
// stabilizeRecommendation, v1.37.1): in the last slot that is older than the cutoff, otherwise in a new one. Other old
// slots remain, and count again if a window is lengthened.
func (r *Recommendations) Overwrite(now time.Time, replicas int32, cutoff time.Time) {
	entry := Recommendation{Time: now, Replicas: replicas}
	for i := len(r.Slots) - 1; i >= 0; i-- {
		if r.Slots[i].Time.Before(cutoff) {
			r.Slots[i] = entry
			return
		}
	}
	r.Slots = append(r.Slots, entry)
}

// Highest returns the largest recommendation for which inside is true. The deque is ordered by time, so the oldest that
// is inside is the largest.
func (r *Recommendations) Highest(inside func(time.Time) bool) (Recommendation, bool) {
	best, found := first(r.Highs, inside)
	for _, slot := range r.Slots {
		if inside(slot.Time) && (!found || slot.Replicas > best.Replicas) {
			best, found = slot, true
		}
	}
	return best, found
}

// Lowest returns the smallest recommendation for which inside is true.
func (r *Recommendations) Lowest(inside func(time.Time) bool) (Recommendation, bool) {
	best, found := first(r.Lows, inside)
	for _, slot := range r.Slots {
		if inside(slot.Time) && (!found || slot.Replicas < best.Replicas) {
			best, found = slot, true
		}
	}
	return best, found
}

// Expire drops what is older than the cutoff, slots included. The caller then adds the newest
// recommendation, because an empty history looks like the one of a new HPA.
func (r *Recommendations) Expire(cutoff time.Time) {
	r.Highs = expire(r.Highs, cutoff)
	r.Lows = expire(r.Lows, cutoff)
	r.Slots = slices.DeleteFunc(r.Slots, func(slot Recommendation) bool { return slot.Time.Before(cutoff) })
}

// Clone returns a copy that shares nothing.
func (r *Recommendations) Clone() Recommendations {
	return Recommendations{
		Highs: append([]Recommendation(nil), r.Highs...),
		Lows:  append([]Recommendation(nil), r.Lows...),
		Slots: append([]Recommendation(nil), r.Slots...),

		Passing: append([]Recommendation(nil), r.Passing...),
	}
}

func first(entries []Recommendation, inside func(time.Time) bool) (Recommendation, bool) {
	for _, e := range entries {
		if inside(e.Time) {
			return e, true
		}
	}
	return Recommendation{}, false
}

func expire(entries []Recommendation, cutoff time.Time) []Recommendation {
	n := 0
	for n < len(entries) && entries[n].Time.Before(cutoff) {
		n++
	}
	if n == 0 {
		return entries
	}
	// Move the entries to the front, so that the buffer is reused.
	return append(entries[:0], entries[n:]...)
}
