// Package usage aggregates the use of the containers of a workload: a histogram of CPU samples, and one of memory
// peaks, of which each container of each pod has one in an interval. It raises memory after out-of-memory kills, and
// saves the history in checkpoints.
package usage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
)

// Policy has the settings of the aggregation. The comment of each field except the last names upstream's flag.
type Policy struct {
	// HalfLife: --cpu-histogram-decay-half-life, --memory-histogram-decay-half-life.
	HalfLife [vertical.Resources]time.Duration
	// Interval is the time that has one memory peak of each container: --memory-aggregation-interval.
	Interval time.Duration
	// Count is the number of intervals without samples after which an aggregate is dropped:
	// --memory-aggregation-interval-count.
	Count int64
	// BumpUpRatio and MinBumpUpBytes raise the memory of a container that ran out of it, whichever is more:
	// --oom-bump-up-ratio, --oom-min-bump-up-bytes.
	BumpUpRatio, MinBumpUpBytes float64

	Divergences divergence.Set
}

// DefaultPolicy returns upstream's flags by default, and Plimsoll's divergences.
func DefaultPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{
		HalfLife: [vertical.Resources]time.Duration{day, day}, Interval: day, Count: 8, BumpUpRatio: 1.2,
		MinBumpUpBytes: 100 << 20,
		Divergences:    divergence.Default,
	}
}

func (p *Policy) has(d divergence.Set) bool { return p.Divergences.Has(d) }

func (p *Policy) shape(r vertical.Resource) histogram.Shape {
	return histogram.ShapeOf(r, p.HalfLife[r])
}

// window returns the time for which an aggregate without samples is kept.
func (p *Policy) window() time.Duration {
	return time.Duration(arithmetic.Saturate.MulDiv(int64(p.Interval), max(1, p.Count), 1))
}

// overrides has the settings of a VerticalPodAutoscaler that override flags.
type overrides struct {
	oom    vertical.OOMPolicy
	memory vertical.MemoryPolicy
}

// orElse returns o, with the fields of below that o does not set.
func (o overrides) orElse(below overrides) overrides {
	if o.oom.BumpUpRatio == 0 {
		o.oom.BumpUpRatio = below.oom.BumpUpRatio
	}
	if !o.oom.HasMinBumpUp {
		o.oom.MinBumpUpBytes, o.oom.HasMinBumpUp = below.oom.MinBumpUpBytes, below.oom.HasMinBumpUp
	}
	if o.memory.Interval == 0 {
		o.memory.Interval = below.memory.Interval
	}
	if o.memory.Count == 0 {
		o.memory.Count = below.memory.Count
	}
	return o
}

func (o overrides) apply(p Policy) Policy {
	o = o.orElse(overrides{
		oom:    vertical.OOMPolicy{BumpUpRatio: p.BumpUpRatio, MinBumpUpBytes: p.MinBumpUpBytes, HasMinBumpUp: true},
		memory: vertical.MemoryPolicy{Interval: p.Interval, Count: p.Count},
	})
	p.BumpUpRatio, p.MinBumpUpBytes = o.oom.BumpUpRatio, o.oom.MinBumpUpBytes
	p.Interval, p.Count = o.memory.Interval, o.memory.Count
	return p
}
