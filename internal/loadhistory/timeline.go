package loadhistory

import (
	"math"
	"slices"
	"time"
)

// LongestTimeline is the maximum length of a timeline: as long as histories are kept.
const LongestTimeline = 15 * 24 * time.Hour

// Cell is the load and the counts of a step.
type Cell struct {
	// IsRecorded is true if the rest was recorded. Otherwise the step is unknown, and the load is NaN.
	IsRecorded bool
	// Load is the mean in pods at the target, NaN if it was unknown. PerPodMilli is the load of one pod at the target, in
	// thousandths of the metric's unit; 0 if it is unknown.
	Load, PerPodMilli float64
	// Wanted, Ready and Limit are those at the end of the step. With the limit NotRecorded the counts are unknown.
	Wanted, Ready int32
	Limit         Limit
}

// HasCounts reports whether the wanted and the ready count are known.
func (c *Cell) HasCounts() bool { return c.IsRecorded && c.Limit != NotRecorded }

// Timeline has a cell for each step from its start on. The first and the last cell are recorded ones.
type Timeline struct {
	Start time.Time
	Step  time.Duration
	Cells []Cell
}

// End returns the end of the last cell.
func (t *Timeline) End() time.Time { return t.Start.Add(time.Duration(len(t.Cells)) * t.Step) }

// Loads returns the cells' loads.
func (t *Timeline) Loads() []float64 {
	loads := make([]float64, len(t.Cells))
	for i := range loads {
		loads[i] = t.Cells[i].Load
	}
	return loads
}

// LoadsOf returns the loads of another history in the same cells.
func (t *Timeline) LoadsOf(h *History) []float64 {
	other := newTimeline(h, pointsOf(h, t.Start, t.End()), t.Start, t.End(), t.Step)
	loads := make([]float64, len(t.Cells))
	for i := range loads {
		loads[i] = math.NaN()
	}
	if at, ok := t.index(other.Start); ok {
		copy(loads[at:], other.Loads())
	}
	return loads
}

// PerPodMilli returns the load of one pod at the target in each cell; 0 where it is unknown.
func (t *Timeline) PerPodMilli() []float64 {
	all := make([]float64, len(t.Cells))
	for i := range all {
		all[i] = t.Cells[i].PerPodMilli
	}
	return all
}

// stepOf returns the finest resolution that histories keep for all of a time as long as the points'.
func stepOf(points []Point) time.Duration {
	length := time.Duration(0)
	if n := len(points); n > 0 {
		length = points[n-1].At.Add(points[n-1].Every).Sub(points[0].At)
	}
	switch {
	case length <= 15*time.Minute:
		return time.Second
	case length <= 28*time.Hour:
		return time.Minute
	}
	return 5 * time.Minute
}

// TimelineOf returns the timeline of a history from one moment to another; if that is longer than LongestTimeline, it
// returns the last part. It has no cells if there are no points in that time.
func TimelineOf(h *History, from, to time.Time) Timeline {
	from = notTooEarly(from, to)
	step := stepOf(pointsOf(h, from, to))
	// The point that the time begins in counts, too.
	from = from.Truncate(step)
	return newTimeline(h, pointsOf(h, from, to), from, to, step)
}

// MinutesOf returns a cell for each minute, also where the history has only longer points: several cells then have the
// same values. coarse is the number of these cells.
func MinutesOf(h *History, from, to time.Time) (t Timeline, coarse int) {
	from = notTooEarly(from, to).Truncate(time.Minute)
	points := pointsOf(h, from, to)
	t = newTimeline(h, points, from, to, time.Minute)
	for i := range points {
		if p := &points[i]; p.Every > time.Minute {
			coarse += int(p.Every / time.Minute)
		}
	}
	return t, min(coarse, len(t.Cells))
}

func notTooEarly(from, to time.Time) time.Time {
	if to.Sub(from) > LongestTimeline {
		return to.Add(-LongestTimeline)
	}
	return from
}

func pointsOf(h *History, from, to time.Time) []Point {
	var points []Point
	h.Points(from, to, func(p Point) bool {
		points = append(points, p)
		return true
	})
	return points
}

// lastBefore returns the last point that ended before a moment, and not long before; nil if there is none.
func lastBefore(h *History, at time.Time) (last *Point) {
	h.Points(at.Add(-2*grains[resolutions-1].every), at, func(p Point) bool {
		if !p.At.Add(p.Every).After(at) {
			last = &p
		}
		return true
	})
	return last
}

// newTimeline returns the timeline of a step, made of points of a history.
func newTimeline(h *History, points []Point, from, to time.Time, step time.Duration) Timeline {
	t := Timeline{Start: from.Truncate(step), Step: step}
	t.Cells = make([]Cell, max(0, (to.Sub(t.Start)+t.Step-1)/t.Step))
	for i := range t.Cells {
		t.Cells[i].Load = math.NaN()
	}
	if len(points) > 0 {
		t.fill(points, lastBefore(h, points[0].At))
	}
	return t.trimmed()
}

func (t *Timeline) fill(points []Point, before *Point) {
	holds := holdsFor(points)
	known := make([]time.Duration, len(t.Cells))
	for i := range points {
		p := &points[i]
		lasts := p.Every
		if i+1 < len(points) {
			// There are no points between two decisions: the values of the first one hold.
			if next := points[i+1].At.Sub(p.At); next <= holds {
				lasts = max(lasts, next)
			}
		}
		end := p.At.Add(lasts)
		// A point that ends within a cell belongs to that cell, too, unless the next one replaces it.
		for k, ok := t.index(p.At); ok && k < len(t.Cells); k++ {
			begin := t.Start.Add(time.Duration(k) * t.Step)
			if !begin.Before(end) {
				break
			}
			t.Cells[k].add(p, min(t.Step, end.Sub(begin), end.Sub(p.At), begin.Add(t.Step).Sub(p.At)), &known[k])
			if before != nil && begin.Add(t.Step).Before(p.At.Add(p.Every)) {
				t.Cells[k].holdCounts(before, p)
			}
		}
		before = p
	}
}

// index returns the cell of a moment; false if it is outside of the timeline.
func (t *Timeline) index(at time.Time) (i int, ok bool) {
	since := at.Sub(t.Start)
	i = int(since / t.Step)
	return i, since >= 0 && i < len(t.Cells)
}

// add adds a point to the cell, in which it lasts for a time. known is the time for which the load of the cell is known
// already.
func (c *Cell) add(p *Point, lasts time.Duration, known *time.Duration) {
	if !math.IsNaN(p.Load) {
		if *known == 0 {
			c.Load = p.Load
		} else {
			c.Load += (p.Load - c.Load) * float64(lasts) / float64(*known+lasts)
		}
		*known += lasts
	}
	c.IsRecorded = true
	c.PerPodMilli, c.Wanted, c.Ready, c.Limit = float64(p.PerPodMilli), p.Wanted, p.Ready, p.Limit
}

// holdCounts keeps the counts of the point before: those of a point are of its end, and this cell ends earlier. After a
// time without points nothing else is known than the point's own.
func (c *Cell) holdCounts(before, p *Point) {
	if p.At.Sub(before.At.Add(before.Every)) < p.Every {
		c.Wanted, c.Ready, c.Limit = before.Wanted, before.Ready, before.Limit
	}
}

// The bounds of the time for which a point holds if the next one is late: an object is decided every 15 seconds by
// default, and once an hour at least.
const (
	pointHoldsAtLeast = 30 * time.Second
	pointHoldsAtMost  = 2 * time.Hour
)

// holdsFor returns how long a point may hold until the next one: twice the usual time between two. After a longer time
// the load is unknown: no decision was made.
func holdsFor(points []Point) time.Duration {
	if len(points) < 2 {
		return pointHoldsAtLeast
	}
	intervals := make([]time.Duration, len(points)-1)
	for i := range intervals {
		intervals[i] = points[i+1].At.Sub(points[i].At)
	}
	slices.Sort(intervals)
	return max(pointHoldsAtLeast, min(pointHoldsAtMost, 2*intervals[len(intervals)/2]))
}

// trimmed returns the timeline without unrecorded cells at both ends.
func (t *Timeline) trimmed() Timeline {
	recorded := func(c Cell) bool { return c.IsRecorded }
	first := slices.IndexFunc(t.Cells, recorded)
	if first < 0 {
		return Timeline{Start: t.Start, Step: t.Step}
	}
	last := len(t.Cells)
	for !t.Cells[last-1].IsRecorded {
		last--
	}
	return Timeline{Start: t.Start.Add(time.Duration(first) * t.Step), Step: t.Step, Cells: t.Cells[first:last]}
}
