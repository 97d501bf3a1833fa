package counter_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const window = 15 * time.Second

// values numbers the series from 1; negative numbers are series that the page lacks.
func values(of ...float64) []counter.Value {
	var all []counter.Value
	for i, v := range of {
		if v != gone {
			all = append(all, counter.Value{Series: uint64(i + 1), Value: v})
		}
	}
	return all
}

const gone = -1e9

type page struct {
	after   time.Duration
	values  []counter.Value
	outcome counter.Outcome
	// milli is the average after the page, and window its span; -1 for none.
	milli  int64
	window time.Duration
}

const none = int64(-1)

func TestPages(t *testing.T) {
	rate, gauge := counter.Config{Kind: counter.Rate}, counter.Config{Kind: counter.Gauge}
	zero := counter.Config{Kind: counter.Rate, IsAbsentZero: true}
	for name, tt := range map[string]struct {
		config counter.Config
		pages  []page
	}{
		"a rate comes with the second page, of all series together": {rate, []page{
			{0, values(100, 1000), counter.First, none, 0},
			{time.Second, values(110, 1005), counter.Continued, 15_000, time.Second},
			{time.Second, values(110, 1005), counter.Continued, 7_500, 2 * time.Second},
		}},
		"a restart, where a counter falls": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{time.Second, values(110), counter.Continued, 10_000, time.Second},
			{time.Second, values(3), counter.Restarted, none, 0},
			{time.Second, values(8), counter.Continued, 5_000, time.Second},
		}},
		"a series that falls adds nothing, while the others grow by more": {rate, []page{
			{0, values(10, 1000), counter.First, none, 0},
			{time.Second, values(4, 1020), counter.Continued, 20_000, time.Second},
		}},
		"a new series adds nothing but from then on": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{time.Second, values(110, 5000), counter.Continued, 10_000, time.Second},
			{time.Second, values(110, 5030), counter.Continued, 20_000, 2 * time.Second},
		}},
		"a series that went and came back adds nothing": {rate, []page{
			{0, values(100, 50), counter.First, none, 0},
			{time.Second, values(110, gone), counter.Continued, 10_000, time.Second},
			{time.Second, values(120, 80), counter.Continued, 10_000, 2 * time.Second},
		}},
		"other series alone are another life of the pod": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{time.Second, values(gone, 7), counter.Restarted, none, 0},
			{time.Second, values(gone, 9), counter.Continued, 2_000, time.Second},
		}},
		"a gap that is too long": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{2 * time.Minute, values(220), counter.Continued, 1_000, 2 * time.Minute},
			{2*time.Minute + 1, values(300), counter.Interrupted, none, 0},
			{time.Second, values(301), counter.Continued, 1_000, time.Second},
		}},
		"the same instant": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{99 * time.Millisecond, values(900), counter.Same, none, 0},
			{901 * time.Millisecond, values(110), counter.Continued, 10_000, time.Second},
		}},
		"a time before the newest": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{-time.Second, values(110), counter.ClockJumped, none, 0},
			{time.Second, values(111), counter.Continued, 1_000, time.Second},
		}},
		"what cannot be is no sample": {rate, []page{
			{0, values(100), counter.First, none, 0},
			{time.Second, values(math.NaN()), counter.Refused, none, 0},
			{time.Second, values(math.Inf(1)), counter.Refused, none, 0},
			{time.Second, values(110, -1), counter.Refused, none, 0},
			{time.Second, values(math.MaxFloat64, math.MaxFloat64), counter.Refused, none, 0},
			{time.Second, values(105), counter.Continued, 1_000, 5 * time.Second},
		}},
		"absent is not zero": {rate, []page{
			{0, nil, counter.Absent, none, 0},
			{0, values(100), counter.First, none, 0},
			{time.Second, nil, counter.Absent, none, 0},
			{time.Second, values(110), counter.Continued, 5_000, 2 * time.Second},
		}},
		"absent is zero where it says so": {zero, []page{
			{0, nil, counter.First, none, 0},
			{time.Second, nil, counter.Continued, 0, time.Second},
			{time.Second, values(100), counter.Continued, 0, 2 * time.Second},
			{2 * time.Second, values(108), counter.Continued, 2_000, 4 * time.Second},
			{time.Second, nil, counter.Restarted, none, 0},
			{time.Second, nil, counter.Continued, 0, time.Second},
		}},
		"a series that is there twice": {rate, []page{
			{0, []counter.Value{{1, 100}, {1, 50}}, counter.First, none, 0},
			{time.Second, []counter.Value{{1, 60}, {1, 100}}, counter.Continued, 10_000, time.Second},
		}},
		"a rate beyond the largest number": {rate, []page{
			{0, values(0), counter.First, none, 0},
			{time.Second, values(1e300), counter.Continued, math.MaxInt64, time.Second},
		}},
		"a gauge is the mean over the window": {gauge, []page{
			{0, values(10, 2), counter.First, 12_000, 0},
			{time.Second, values(14, 4), counter.Continued, 18_000, time.Second},
			{3 * time.Second, values(22, gone), counter.Continued, 21_000, 4 * time.Second},
		}},
		"a gauge may fall": {gauge, []page{
			{0, values(10), counter.First, 10_000, 0},
			{time.Second, values(0), counter.Continued, 0, time.Second},
			{3 * time.Minute, values(5), counter.Interrupted, 5_000, 0},
		}},
		"the mean of the largest gauges": {gauge, []page{
			{0, values(math.MaxFloat64), counter.First, math.MaxInt64, 0},
			{time.Second, values(math.MaxFloat64), counter.Continued, math.MaxInt64, time.Second},
			{time.Second, values(math.MaxFloat64), counter.Continued, math.MaxInt64, 2 * time.Second},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h, at := counter.New(tt.config), noon
			newest := noon
			for i, p := range tt.pages {
				at = at.Add(p.after)
				outcome := h.Add(at, at, p.values)
				if outcome != p.outcome {
					t.Fatalf("page %d: %s, want %s", i, outcome, p.outcome)
				}
				if outcome != counter.Same && outcome != counter.Refused && outcome != counter.Absent {
					newest = at
				}
				want := metric.Sample{Present: true, Milli: p.milli, At: newest, Window: p.window}
				if p.milli == none {
					want = metric.Sample{}
				}
				if diff := cmp.Diff(want, h.Average(window)); diff != "" {
					t.Fatalf("page %d:\n%s", i, diff)
				}
			}
		})
	}
}

func TestRecent(t *testing.T) {
	h := counter.New(counter.Config{Kind: counter.Rate})
	if got := h.Recent(); got != (metric.Recent{}) {
		t.Errorf("without a page: %+v", got)
	}
	at, sum := noon, 0.0
	for i := range 5 {
		h.Add(at, at, values(sum))
		at, sum = at.Add(time.Duration(i+1)*time.Second), sum+10*float64((i+1)*(i+1))
	}
	want := metric.Recent{
		{Present: true, Milli: 40_000, At: noon.Add(10 * time.Second), Window: 4 * time.Second},
		{Present: true, Milli: 30_000, At: noon.Add(6 * time.Second), Window: 3 * time.Second},
		{Present: true, Milli: 20_000, At: noon.Add(3 * time.Second), Window: 2 * time.Second},
	}
	if diff := cmp.Diff(want, h.Recent()); diff != "" {
		t.Error(diff)
	}
}

// naive remembers every page.
type naive struct {
	at     []time.Time
	series []map[uint64]float64
	// total is the sum of all increments up to each page of this life.
	total []float64
}

func (n *naive) add(at time.Time, all []counter.Value) {
	page := map[uint64]float64{}
	for _, v := range all {
		page[v.Series] = v.Value
	}
	if len(n.at) > 0 {
		last := n.series[len(n.series)-1]
		shared, before, after, grown := 0, 0.0, 0.0, 0.0
		for s, v := range page {
			if w, ok := last[s]; ok {
				shared, before, after, grown = shared+1, before+w, after+v, grown+max(0, v-w)
			}
		}
		if shared > 0 && after >= before {
			n.at, n.series, n.total = append(n.at, at), append(n.series, page), append(n.total, n.total[len(n.total)-1]+grown)
			return
		}
	}
	n.at, n.series, n.total = []time.Time{at}, []map[uint64]float64{page}, []float64{0}
}

// TestLikeNaive: for any times, series and restarts, every average is between two pages of one life, ends with the
// newest, and is the sum of the increments over its time; it is never negative.
func TestLikeNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, n, at := counter.New(counter.Config{Kind: counter.Rate}), naive{}, noon
		current := map[uint64]float64{}
		for i := range rapid.IntRange(1, 50).Draw(t, "pages") {
			at = at.Add(time.Duration(rapid.IntRange(100, 3000).Draw(t, "gap")) * time.Millisecond)
			for s := range uint64(4) {
				switch rapid.IntRange(0, 20).Draw(t, fmt.Sprint("series ", s)) {
				case 0:
					delete(current, s)
				case 1:
					current[s] = float64(rapid.IntRange(0, 1000).Draw(t, "start"))
				default:
					if v, ok := current[s]; ok || i == 0 {
						current[s] = v + float64(rapid.IntRange(0, 100).Draw(t, "increment"))
					}
				}
			}
			var all []counter.Value
			for s, v := range current {
				all = append(all, counter.Value{Series: s, Value: v})
			}
			if len(all) == 0 {
				continue
			}
			n.add(at, all)
			h.Add(at, at, all)
			span := time.Duration(rapid.IntRange(1000, 20_000).Draw(t, "window")) * time.Millisecond
			if n.growsInSteps() {
				continue // see TestSteps
			}
			n.check(t, h.Average(span), span)
			for k, s := range h.Recent() {
				if s.Present {
					n.check(t, s, -time.Duration(k+1))
				}
			}
		}
	})
}

// growsInSteps reports whether the last growth came long after the one before, or the first page.
func (n *naive) growsInSteps() bool {
	last, before := 0, 0
	for i := 1; i < len(n.total); i++ {
		if n.total[i] > n.total[i-1] {
			last, before = i, last
		}
	}
	return n.at[last].Sub(n.at[before]) >= 4500*time.Millisecond
}

// check takes the requested window, or minus the number of an interval.
func (n *naive) check(t *rapid.T, s metric.Sample, asked time.Duration) {
	if !s.Present {
		if len(n.at) > 1 {
			t.Fatalf("no sample after %d pages", len(n.at))
		}
		return
	}
	find := func(at time.Time) int {
		for i := range n.at {
			if n.at[i].Equal(at) {
				return i
			}
		}
		t.Fatalf("%+v has an end at which there was no page of this life", s)
		return 0
	}
	first, last := find(s.At.Add(-s.Window)), find(s.At)
	want := int64(math.Round((n.total[last] - n.total[first]) / s.Window.Seconds() * 1000))
	if d := s.Milli - want; d < -1 || d > 1 || s.Milli < 0 {
		t.Fatalf("%+v, want %d", s, want)
	}
	if asked > 0 && (last != len(n.at)-1 || s.Window > asked && first != last-1) {
		t.Fatalf("%+v is not the newest over %s", s, asked)
	}
	if asked < 0 && (last != len(n.at)+int(asked) || first != last-1) {
		t.Fatalf("%+v is not the interval %d before the end", s, -asked)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 20, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, at := counter.New(counter.Config{Kind: counter.Rate}), noon
			all := make([]counter.Value, n)
			b.ReportAllocs()
			for b.Loop() {
				at = at.Add(time.Second)
				for i := range all {
					all[i] = counter.Value{Series: uint64(i+1) * 0x9e3779b97f4a7c15, Value: float64(at.Unix())}
				}
				if h.Add(at, at, all) > counter.Continued {
					b.Fatal("no history")
				}
			}
		})
	}
}

// TestTimestamps: averages use the timestamps of pages, and pages that repeat one add nothing. Confirmed is the time at
// which a page last had the metric.
func TestTimestamps(t *testing.T) {
	for kind, want := range map[counter.Kind]int64{counter.Rate: 10_000, counter.Gauge: 300_000} {
		h := counter.New(counter.Config{Kind: kind})
		var now, at time.Time
		for s := range 32 {
			now, at = noon.Add(time.Duration(s)*time.Second), noon.Add(time.Duration(s/10*10-40)*time.Second)
			h.Add(now, at, values(float64(s/10*100)))
		}
		got := h.Average(window)
		isOf := got.At.Equal(at) && got.Window == 10*time.Second
		if !got.Present || got.Milli != want || !isOf || !h.Confirmed().Equal(now) {
			t.Errorf("%d: %+v, confirmed at %s; want %d at %s", kind, got, h.Confirmed(), want, at)
		}
		if h.Add(now.Add(time.Second), at, nil) != counter.Absent || !h.Confirmed().Equal(now) {
			t.Errorf("%d: a page without the metric confirms it", kind)
		}
	}
}

// TestAggregate: the values of a gauge's series become one; the increments of counters are summed whatever is asked.
func TestAggregate(t *testing.T) {
	for by, want := range map[sources.Aggregate]int64{sources.Sum: 9000, sources.Average: 3000, sources.Max: 5000} {
		h := counter.New(counter.Config{Aggregate: by})
		h.Add(noon, noon, values(5, 1, 3))
		if s := h.Average(window); s.Milli != want {
			t.Errorf("%s: %+v, want %d", by, s, want)
		}
		h = counter.New(counter.Config{Kind: counter.Rate, Aggregate: by})
		for second := range 10 {
			at := noon.Add(time.Duration(second) * time.Second)
			h.Add(at, at, values(5*float64(second), float64(second), 3*float64(second)))
		}
		if s := h.Average(window); s.Milli != 9000 {
			t.Errorf("%s of rates: %+v", by, s)
		}
	}
	for _, by := range []sources.Aggregate{sources.Average, sources.Max} {
		h := counter.New(counter.Config{Aggregate: by, IsAbsentZero: true})
		h.Add(noon, noon, nil)
		if s := h.Average(window); !s.Present || s.Milli != 0 {
			t.Errorf("%s of nothing: %+v", by, s)
		}
		if got := h.Add(noon.Add(time.Second), noon.Add(time.Second), values(5, -1)); got != counter.Refused {
			t.Errorf("%s with a negative value: %s", by, got)
		}
	}
}
