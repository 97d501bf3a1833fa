package scrape

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// retries are the targets that failed, until a scrape of them succeeds. Their groups have equal parts of the places for
// retries: silent targets take a place for their whole timeout, and those of one group would delay the others' for
// minutes.
type retries[T Target] struct {
	// most is how many may be under way of all groups.
	most   int
	groups map[string]*failed[T]
	// eligible are the groups with targets that wait, without those that have their part of the places.
	eligible timing.Queue[*failed[T]]
}

// failed are the targets of a group that failed.
type failed[T Target] struct {
	name    string
	waiting queue[T]
	// underWay is how many are being scraped.
	underWay int
	// hasPart says that the group has its part of the places, until one of its scrapes ends.
	hasPart    bool
	isEligible bool
	place      int
}

// Before implements timing.Item.
func (f *failed[T]) Before(other *failed[T]) bool { return f.waiting.due().Before(other.waiting.due()) }

// Place implements timing.Item.
func (f *failed[T]) Place() *int { return &f.place }

// of is what failed of a group.
func (r *retries[T]) of(group string) *failed[T] {
	f := r.groups[group]
	if f == nil {
		f = &failed[T]{name: group}
		r.groups[group] = f
	}
	return f
}

// changed is called after every change of what failed of a group.
func (r *retries[T]) changed(f *failed[T]) {
	isEligible := f.waiting.Len() > 0 && !f.hasPart
	switch {
	case isEligible && f.isEligible:
		r.eligible.Fix(f)
	case isEligible:
		r.eligible.Push(f)
	case f.isEligible:
		r.eligible.Remove(f)
	}
	f.isEligible = isEligible
	if f.waiting.Len() == 0 && f.underWay == 0 {
		delete(r.groups, f.name)
	}
}

// first is the queue with the target that is retried next, nil if there is none.
func (r *retries[T]) first() *queue[T] {
	for r.eligible.Len() > 0 {
		f := r.eligible.First()
		if f.underWay < max(1, r.most/len(r.groups)) {
			return &f.waiting
		}
		f.hasPart = true
		r.changed(f)
	}
	return nil
}

// begin takes in that a target is scraped that waited.
func (r *retries[T]) begin(f *failed[T]) {
	f.underWay++
	r.changed(f)
}

// end takes in that a scrape ended of a target that had failed.
func (r *retries[T]) end(f *failed[T]) {
	f.underWay--
	f.hasPart = false
	r.changed(f)
}

// add lets a target that failed wait until a time.
func (r *retries[T]) add(e *entry[T], group string, due time.Time) {
	f := r.of(group)
	e.failed, e.due = f, due
	f.waiting.add(e)
	r.changed(f)
}
