// Package subscriptions has what a source reads for objects, metrics or pods: what was set last, and nothing
// else. To read a value is no subscription.
package subscriptions

import (
	"iter"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Config is what a source does with the metrics of objects. Begin and End must not use the table.
type Config[S comparable, M any] struct {
	// Of is what the source reads for a metric; nil if it is another source's. SetAll does not need it.
	Of func(*sources.Spec) *S
	// Begin is called when an object has a metric that it did not have before, End when it no longer has it.
	Begin func(key observe.Key, spec *S) M
	End   func(M)
}

// Table has the metrics that a source reads of each object. It may be used by many goroutines.
type Table[S comparable, M any] struct {
	config Config[S, M]

	// mu guards the following.
	mu      sync.RWMutex
	objects map[observe.Key]map[S]*entry[M]
	// sets counts the calls of Set.
	sets uint64
}

type entry[M any] struct {
	metric M
	// set is the number of the last Set that had it.
	set uint64
}

// New makes a Table without metrics.
func New[S comparable, M any](config Config[S, M]) *Table[S, M] {
	return &Table[S, M]{config: config, objects: map[observe.Key]map[S]*entry[M]{}}
}

// Set makes these the metrics of the object; nil if there are none, or if the object is gone. Equal ones are one
// metric.
func (t *Table[S, M]) Set(key observe.Key, specs []sources.Spec) {
	t.set(key, func(yield func(*S) bool) {
		for i := range specs {
			if spec := t.config.Of(&specs[i]); spec != nil && !yield(spec) {
				return
			}
		}
	})
}

// SetAll is Set where all specs are the source's.
func (t *Table[S, M]) SetAll(key observe.Key, specs []S) {
	t.set(key, func(yield func(*S) bool) {
		for i := range specs {
			if !yield(&specs[i]) {
				return
			}
		}
	})
}

func (t *Table[S, M]) set(key observe.Key, specs iter.Seq[*S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sets++
	metrics := t.objects[key]
	for spec := range specs {
		if metrics == nil {
			metrics = map[S]*entry[M]{}
			t.objects[key] = metrics
		}
		if metrics[*spec] == nil {
			metrics[*spec] = &entry[M]{metric: t.config.Begin(key, spec)}
		}
		metrics[*spec].set = t.sets
	}
	// What the new metrics share with the old ones is kept, as those end last.
	for spec, e := range metrics {
		if e.set != t.sets {
			delete(metrics, spec)
			t.config.End(e.metric)
		}
	}
	if len(metrics) == 0 {
		delete(t.objects, key)
	}
}

// Get is the object's metric; ok is false if the object does not have it.
func (t *Table[S, M]) Get(key observe.Key, spec *S) (metric M, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.objects[key][*spec]
	if e == nil {
		return metric, false
	}
	return e.metric, true
}

// All are the metrics of all objects. While they are iterated over none is set.
func (t *Table[S, M]) All() iter.Seq[M] {
	return func(yield func(M) bool) {
		t.mu.RLock()
		defer t.mu.RUnlock()
		for _, metrics := range t.objects {
			for _, e := range metrics {
				if !yield(e.metric) {
					return
				}
			}
		}
	}
}
