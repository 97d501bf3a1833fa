package counter

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/points"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// The limits of one history.
const (
	// ShortestGap is the shortest time between two pages: below it, the error of the time at which the counters were read
	// is too large.
	ShortestGap = 100 * time.Millisecond
	// LongestGap is the longest time between two pages: beyond it an average does not describe the present.
	LongestGap = 2 * time.Minute
)

// Kind is gauge or counter.
type Kind uint8

// The kinds.
const (
	Gauge Kind = iota
	Rate
)

// Config configures a History.
type Config struct {
	Kind Kind
	// IsAbsentZero makes a page without the metric count as 0, and a gauge with NaN as absent: the quantile of a summary
	// without observations is NaN.
	IsAbsentZero bool
	// Aggregate is how the values of a gauge's series become one. The increments of counters are summed.
	Aggregate sources.Aggregate
	// Window is the longest window of an average, if it is longer than the stable window.
	Window time.Duration
}

// Value is one series of a page: a hash of its labels, and its value.
type Value struct {
	Series uint64
	Value  float64
}

// Outcome is the effect of a page on a history.
type Outcome uint8

// The outcomes.
const (
	// First: the history began.
	First Outcome = iota
	// Continued: there is one interval more.
	Continued
	// Same: the page is of the same instant as the newest.
	Same
	// Absent: the page does not have the metric.
	Absent
	// Refused: a value is NaN, infinite or negative.
	Refused
	// Restarted: the counters fell or are others, and the history restarts.
	Restarted
	// Interrupted: the gap was too long, and the history restarts.
	Interrupted
	// ClockJumped: the page is from before the newest, and the history restarts.
	ClockJumped
)

func (o Outcome) String() string {
	names := [...]string{"first", "continued", "same instant", "absent", "refused", "restarted", "interrupted",
		"clock jumped"}
	if int(o) >= len(names) {
		return "unknown"
	}
	return names[o]
}

// History is that of one metric of one pod. A pod with another UID needs another one.
type History struct {
	config Config
	// restarts counts the pages in a row that restarted it, up to 255.
	restarts uint8
	// newest is the time of the newest page: its arrival, unless it has a timestamp. A time from time.Now has the
	// monotonic clock, so that setting the clock falsifies nothing. confirmed is the time of the last page, which may
	// repeat the newest timestamp.
	newest, confirmed time.Time
	// points holds the gauges' value, or the sum of all increments.
	points points.History[float64]
	// ageMillis is from the first page to the newest, and steps are when the counters grew in between.
	ageMillis int64
	steps     steps
	// series are the counters of the newest page, by hash.
	series []Value
}

// New makes an empty history.
func New(config Config) History { return History{config: config} }

// Add adds a page that was read whole now: all its series, of that time, in any order, which it may
// change.
func (h *History) Add(now, at time.Time, values []Value) Outcome {
	if len(values) == 0 && !h.config.IsAbsentZero {
		return Absent
	}
	if h.config.Kind == Gauge && h.config.IsAbsentZero {
		values = slices.DeleteFunc(values, func(v Value) bool { return math.IsNaN(v.Value) || math.IsInf(v.Value, 0) })
	}
	values = unique(values)
	sum, isFine := h.config.combine(values)
	if !isFine {
		return Refused
	}
	h.confirmed = now
	gap := at.Sub(h.newest)
	outcome, increment := h.judge(gap, values)
	if outcome == Same {
		return Same
	}
	if h.config.Kind == Rate {
		h.series = append(h.series[:0], values...)
		sum = increment
	}
	h.newest = at
	h.count(outcome)
	if outcome != Continued {
		h.begin(sum)
		return outcome
	}
	if h.config.Kind == Rate {
		sum += h.points.Newest()
	}
	if math.IsInf(sum, 0) {
		h.begin(0)
		return Restarted
	}
	gapMillis := uint32(gap.Round(time.Millisecond).Milliseconds()) //nolint:gosec // at most LongestGap
	h.points.Add(gapMillis, sum, max(averaging.StableWindow, h.config.Window).Milliseconds())
	h.ageMillis += int64(gapMillis)
	if h.config.Kind == Rate {
		h.steps.add(h.ageMillis, sum, increment > 0)
	}
	return Continued
}

// combine returns one value of those of a page; ok is false if one of them is negative or no finite number.
func (c *Config) combine(values []Value) (one float64, ok bool) {
	most := 0.0
	for i := range values {
		if !(values[i].Value >= 0) {
			return 0, false
		}
		one, most = one+values[i].Value, max(most, values[i].Value)
	}
	switch {
	case math.IsInf(one, 0):
		return 0, false
	case c.Kind == Gauge && c.Aggregate == sources.Max:
		return most, true
	case c.Kind == Gauge && c.Aggregate == sources.Average && len(values) > 0:
		return one / float64(len(values)), true
	}
	return one, true
}

func (h *History) begin(value float64) {
	h.points.Begin(value)
	h.ageMillis, h.steps = 0, steps{}
}

func (h *History) count(outcome Outcome) {
	if outcome != Restarted {
		h.restarts = 0
	} else if h.restarts < math.MaxUint8 {
		h.restarts++
	}
}

// Confirmed returns when a page last had the metric. That may be long after the timestamp of its values.
func (h *History) Confirmed() time.Time { return h.confirmed }

// RestartsAlways reports whether several pages in a row restarted the history. Counters that only grow would have
// continued it.
func (h *History) RestartsAlways() bool { return h.restarts > 1 }

// unique sorts by series, and keeps the lower value of a duplicate.
func unique(values []Value) []Value {
	slices.SortFunc(values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Series, b.Series), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(values, func(a, b Value) bool { return a.Series == b.Series })
}

// judge returns the effect of a page on the history, and the growth of its counters.
func (h *History) judge(gap time.Duration, values []Value) (Outcome, float64) {
	switch {
	case h.points.Len() == 0:
		return First, 0
	case gap < 0:
		return ClockJumped, 0
	case gap < ShortestGap:
		return Same, 0
	case gap > LongestGap:
		return Interrupted, 0
	case h.config.Kind == Gauge || len(h.series) == 0:
		return Continued, 0
	}
	increment, isRestart := growth(h.series, values)
	if isRestart {
		return Restarted, 0
	}
	return Continued, increment
}

// growth compares the series that both pages have. Both are sorted.
func growth(before, after []Value) (increment float64, isRestart bool) {
	var sumBefore, sumAfter float64
	shared := 0
	for len(before) > 0 && len(after) > 0 {
		b, a := before[0], after[0]
		if b.Series <= a.Series {
			before = before[1:]
		}
		if a.Series <= b.Series {
			after = after[1:]
		}
		if b.Series != a.Series {
			continue
		}
		shared++
		sumBefore += b.Value
		sumAfter += a.Value
		increment += max(0, a.Value-b.Value)
	}
	return increment, shared == 0 || sumAfter < sumBefore
}

// AwaitsChange reports whether there is no average because the counters have grown only once, after a while without
// growth.
func (h *History) AwaitsChange() bool { return h.steps.isAwaiting(h.ageMillis) }

// Average is the rate, or the mean of the gauge, over the longest span that the window holds, or over the last interval
// if that is longer. Each value of a gauge counts for the time since the one before; a single one counts alone. The
// average of counters that grow in steps is from one change to another.
func (h *History) Average(window time.Duration) metric.Sample {
	if h.AwaitsChange() {
		return metric.Sample{}
	}
	if from, to, ok := h.steps.span(h.ageMillis, window.Milliseconds()); ok {
		return metric.Sample{
			Present: true, Milli: milli((to.total - from.total) * 1000 / float64(to.atMillis-from.atMillis)), At: h.newest,
			Window: time.Duration(h.ageMillis-from.atMillis) * time.Millisecond,
		}
	}
	first, span, ok := h.points.Window(window.Milliseconds())
	switch {
	case ok:
		return h.sample(h.newest, first, h.points.Len()-1, span)
	case h.config.Kind == Gauge && h.points.Len() == 1:
		return metric.Sample{Present: true, Milli: milli(h.points.Newest()), At: h.newest}
	}
	return metric.Sample{}
}

// Least returns the rate that the counters have had at least while AwaitsChange: their growth since the history began.
func (h *History) Least() metric.Sample {
	if !h.AwaitsChange() || h.ageMillis <= 0 {
		return metric.Sample{}
	}
	value := max(1, milli(h.steps.last().total*1000/float64(h.ageMillis)))
	return metric.Sample{Silent: true, Milli: value, At: h.newest, Window: time.Duration(h.ageMillis) * time.Millisecond}
}

// Recent returns the last single intervals, the newest first. Counters that grow in steps have none.
func (h *History) Recent() metric.Recent {
	var recent metric.Recent
	if h.steps.isStepped(h.ageMillis) {
		return recent
	}
	end, last := h.newest, h.points.Len()-1
	for k := range recent {
		if last < 1 {
			break
		}
		gap := h.points.GapMillis(last)
		recent[k] = h.sample(end, last-1, last, gap)
		end = end.Add(-time.Duration(gap) * time.Millisecond)
		last--
	}
	return recent
}

// sample returns the average between two points.
func (h *History) sample(end time.Time, first, last int, spanMillis int64) metric.Sample {
	var value float64
	if h.config.Kind == Rate {
		value = (h.points.Value(last) - h.points.Value(first)) * 1000 / float64(spanMillis)
	} else {
		for i := first + 1; i <= last; i++ {
			// In this order, so that no sum exceeds the range of float64.
			value += h.points.Value(i) * (float64(h.points.GapMillis(i)) / float64(spanMillis))
		}
	}
	return metric.Sample{
		Present: true, Milli: milli(value), At: end, Window: time.Duration(spanMillis) * time.Millisecond,
	}
}

// milli rounds to a thousandth; values beyond an int64 become the largest one.
func milli(value float64) int64 {
	value = math.Round(value * 1000)
	if value >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(value)
}
