// Package loadhistory keeps the load of an autoscaler, and the replica counts that followed: how many replicas were
// wanted and ready, and what limited them. Recent time is kept finely and older time coarsely, in at most 12 kB for an
// object. A [Timeline] has it at one resolution, for plots, programs and simulations. The package is pure: it neither
// reads a clock nor locks.
package loadhistory

import (
	"math"
	"time"
)

// Limit is the limit that bound the wanted count. The names are those of an HPA's conditions.
type Limit uint8

// The limits.
const (
	// None: the metrics' count was within all limits.
	None Limit = iota
	ScaleUpStabilized
	ScaleDownStabilized
	ScaleUpLimit
	ScaleDownLimit
	TooFewReplicas
	TooManyReplicas
	// Paused: the object's mode kept the count.
	Paused
	// MetricsFailed: metrics could not be computed.
	MetricsFailed
	// NotRecorded: the load is from another source, and the wanted and the ready count are unknown.
	NotRecorded
	limits
)

var limitNames = [limits]string{
	"None", "ScaleUpStabilized", "ScaleDownStabilized", "ScaleUpLimit", "ScaleDownLimit", "TooFewReplicas",
	"TooManyReplicas", "Paused", "MetricsFailed", "NotRecorded",
}

// String returns the name of a limit.
func (l Limit) String() string { return limitNames[min(l, limits-1)] }

// Point is the load and the counts of a period.
type Point struct {
	// At is the start of the period, and Every its length. The load is its mean; the rest is from its end.
	At    time.Time
	Every time.Duration
	// Load is in pods at the target, NaN if it was unknown. It is kept to one percent.
	Load float64
	// PerPodMilli is the load of one pod at the target, in thousandths of the metric's unit; 0 if it is unknown.
	PerPodMilli float32
	// Wanted and Ready are replicas.
	Wanted, Ready int32
	Limit         Limit
}

// grain is a resolution, with its number of slots.
type grain struct {
	every time.Duration
	slots int
}

// step returns the index of a moment's step since the Unix epoch.
func (g *grain) step(at time.Time) int64 { return at.Unix() / int64(g.every/time.Second) }

func (g *grain) start(step int64) time.Time {
	return time.Unix(step*int64(g.every/time.Second), 0).UTC()
}

// grains are the resolutions with the room for each, finest first: 15 minutes of seconds, a day of minutes, and two
// weeks of five minutes, if the load is noisy and the counts change all the time. A slot holds about 200 points then.
var grains = [resolutions]grain{{time.Second, 3}, {time.Minute, 6}, {5 * time.Minute, 21}}

// metricGrains are those of the load of one metric: 15 minutes of seconds and a day of minutes. Only the load changes,
// so that a slot holds about 700 points.
var metricGrains = [resolutions]grain{{time.Second, 2}, {time.Minute, 3}, {5 * time.Minute, 0}}

const resolutions = 3

// minutes is the index of minutes in the grains.
const minutes = 1

// History is that of one object. The zero value is empty.
type History struct {
	tiers [resolutions]tier
	// isOfMetric is true for the load of one of several metrics, which is kept for a day.
	isOfMetric bool
	// before is the last moment that was added.
	before moment
}

// moment is a load at one moment.
type moment struct {
	isAny bool
	load  float64
	// second is since the Unix epoch. The load holds from then until until, and interval is the time since the moment
	// before.
	second, until, interval int64
}

// shortestHold is how many seconds a load holds at least, if the next one is late. Objects are decided every 15 seconds
// by default, longestInterval is the longest expected time between two decisions.
const shortestHold, longestInterval = 30, 3600

// isLate reports whether a moment is so little before the last one that the clock need not have been wrong.
func (m *moment) isLate(second int64) bool {
	return m.isAny && second < m.second && m.second-second <= int64(stray/time.Second)
}

// endAt extends the last load to the next point, at most by twice the usual gap between two. After a longer gap the
// load is unknown: no decision was made.
func (m *moment) endAt(second, every int64) {
	m.until = min(second, m.second+max(shortestHold, every, 2*m.interval))
}

// next returns a moment after the one before.
func (m *moment) next(second int64, load float64) moment {
	next := moment{isAny: true, second: second, load: load}
	if m.isAny {
		next.interval = max(0, min(longestInterval, second-m.second))
	}
	return next
}

// OfMetric returns an empty history of the load by one metric of several. It takes 2 kB at most.
func OfMetric() History { return History{isOfMetric: true} }

func (h *History) grains() *[resolutions]grain {
	if h.isOfMetric {
		return &metricGrains
	}
	return &grains
}

// Add adds the load and the counts at a moment. Moments must be in order; an earlier one by less than two minutes is
// ignored, and one before that restarts the history there: the clock was wrong.
func (h *History) Add(at time.Time, p Point) { h.add(0, at, &p) }

// AddMinute adds a minute without seconds. Minutes must be in order.
func (h *History) AddMinute(at time.Time, p Point) { h.add(minutes, at, &p) }

// add adds a moment to the resolutions from one on.
func (h *History) add(finest int, at time.Time, p *Point) {
	if p.Load < 0 || math.IsInf(p.Load, 0) {
		p.Load = math.NaN()
	}
	if !(p.PerPodMilli > 0 && p.PerPodMilli <= math.MaxFloat32) {
		p.PerPodMilli = 0
	}
	p.Wanted, p.Ready = max(0, p.Wanted), max(0, p.Ready)
	second := at.Unix()
	if h.before.isLate(second) {
		return
	}
	h.before.endAt(second, int64(grains[finest].every/time.Second))
	sizes := h.grains()
	for i := finest; i < len(h.tiers); i++ {
		if sizes[i].slots > 0 {
			h.tiers[i].add(&sizes[i], at, p, &h.before)
		}
	}
	h.before = h.before.next(second, p.Load)
}

// Points calls yield with the points from a time on and before another, oldest first, each part in the finest available
// resolution. It ends if yield returns false.
func (h *History) Points(from, to time.Time, yield func(p Point) bool) {
	for i := len(grains) - 1; i >= 0; i-- {
		end := h.endOf(i, to)
		goesOn := h.tiers[i].each(&grains[i], func(p *Point) bool {
			if p.At.Before(from) || !p.At.Before(end) {
				return true
			}
			// A coarse point overlaps the start of a finer one.
			from = p.At.Add(p.Every)
			return yield(*p)
		})
		if !goesOn {
			return
		}
	}
}

// endOf returns where the next finer resolution starts, or else the given end.
func (h *History) endOf(i int, end time.Time) time.Time {
	if i == 0 {
		return end
	}
	finer, found := h.tiers[i-1].first(&grains[i-1])
	if !found || !finer.Before(end) {
		return end
	}
	// If the finer one begins in the first point of this one, nothing was recorded before: it has all of that point.
	if own, isAny := h.tiers[i].first(&grains[i]); isAny && finer.Sub(own) < grains[i].every {
		return own
	}
	return finer
}

// First returns the start of the oldest point.
func (h *History) First() (at time.Time, found bool) {
	const forever = 1 << 40
	h.Points(time.Time{}, time.Unix(forever, 0), func(p Point) bool {
		at, found = p.At, true
		return false
	})
	return at, found
}

// Merge adds the points of an earlier history that are before the first point of this one.
func (h *History) Merge(earlier *History) {
	for i := range h.tiers {
		h.tiers[i].merge(&h.grains()[i], &earlier.tiers[i])
	}
	if !h.before.isAny {
		h.before = earlier.before
	}
}
