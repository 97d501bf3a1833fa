// Package subscriptions holds what a source reads for each object, metrics or pods: exactly those of the last Set.
// Reading a value subscribes to nothing.
package subscriptions

import (
	"iter"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Config connects a source to its Table. Begin and End must not use the table.
type Config[S comparable, M any] struct {
	// Of returns the source's part of a metric; nil if the metric belongs to another source. SetAll does not need it.
	Of func(*sources.Spec) *S
	// Begin is called when an object gets a metric that it did not have before, End when it no longer has it.
	Begin func(key observe.Key, spec *S) M
	End   func(M)
}

// Table holds the metrics that a source reads for each object. It is safe for concurrent use.
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
	// set is the number of the last Set that included the entry.
	set uint64
}

// New makes an empty Table.
func New[S comparable, M any](config Config[S, M]) *Table[S, M] {
	return &Table[S, M]{config: config, objects: map[observe.Key]map[S]*entry[M]{}}
}

// Set replaces the metrics of the object; nil if it has none, or is gone. Equal specs are one metric.
func (t *Table[S, M]) Set(key observe.Key, specs []sources.Spec) {
	t.set(key, func(yield func(*S) bool) {
		for i := range specs {
			if spec := t.config.Of(&specs[i]); spec != nil && !yield(spec) {
				return
			}
		}
	})
}

// SetAll is Set for specs of the source's own type.
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
	// New metrics begin before old ones end, so that both keep what they share.
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

// Get returns the object's metric; ok is false if the object does not have it.
func (t *Table[S, M]) Get(key observe.Key, spec *S) (metric M, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.objects[key][*spec]
	if e == nil {
		return metric, false
	}
	return e.metric, true
}

// All iterates over the metrics of all objects. Set waits until the iteration ends.
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
