package averaging

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRecent checks the intervals of values with gaps of these milliseconds, the newest first.
func TestRecent(t *testing.T) {
	for name, tt := range map[string]struct {
		gaps, want []int64
	}{
		"nothing":                           {nil, nil},
		"one":                               {[]int64{1000}, []int64{1000}},
		"seconds":                           {[]int64{1000, 1000, 1000, 1000}, []int64{1000, 1000, 1000}},
		"old samples":                       {[]int64{12_000, 17_000}, []int64{12_000, 17_000}},
		"after an early scrape":             {[]int64{200, 1000, 1000}, []int64{200, 1000, 1000}},
		"with the regular one after it":     {[]int64{800, 200, 1000, 1000}, []int64{800, 200, 1000}},
		"and one more":                      {[]int64{1000, 800, 200, 1000}, []int64{1000, 800, 200}},
		"an early scrape in the middle":     {[]int64{1000, 550, 450, 1000}, []int64{1000, 550, 450}},
		"twice a second":                    {[]int64{500, 500, 500, 500}, []int64{500, 500, 500}},
		"four times a second":               {[]int64{250, 250, 250, 250, 250, 250, 250}, []int64{250, 1000, 250}},
		"not exactly":                       {[]int64{249, 251, 249, 250, 249, 250}, []int64{249, 999, 250}},
		"ten times a second":                {slices.Repeat([]int64{100}, 20), []int64{100, 1000, 100}},
		"too few":                           {[]int64{250, 250, 250, 250}, []int64{250, 750}},
		"dense after a pause":               {[]int64{250, 250, 250, 3000, 250}, []int64{250, 500, 3000}},
		"a pause, and then the newest ones": {[]int64{3000, 250, 250, 250, 250, 250}, []int64{3000, 1000, 250}},
	} {
		intervals, n := Recent(len(tt.gaps)+1, func(k int) time.Duration { return time.Duration(tt.gaps[k]) * time.Millisecond })
		var got []int64
		for _, i := range intervals[:n] {
			span := int64(0)
			for _, gap := range tt.gaps[i.Last:i.First] {
				span += gap
			}
			got = append(got, span)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestRecentFollowEachOther: the intervals are never empty, end with the newest value and follow each other without
// gaps. Where values are dense, each is a second long.
func TestRecentFollowEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		isDense := rapid.Bool().Draw(t, "dense")
		most := int64(20_000)
		if isDense {
			most = 499
		}
		gaps := rapid.SliceOfN(rapid.Int64Range(100, most), 0, 20).Draw(t, "gaps")
		intervals, n := Recent(len(gaps)+1, func(k int) time.Duration { return time.Duration(gaps[k]) * time.Millisecond })
		last := 0
		for _, i := range intervals[:n] {
			if i.Last != last || i.First <= i.Last || i.First > len(gaps) {
				t.Fatalf("%+v of %v", intervals[:n], gaps)
			}
			last = i.First
		}
		if n < RecentIntervals && last < len(gaps) {
			t.Fatalf("%+v of %v: there are more", intervals[:n], gaps)
		}
		if !isDense || n < RecentIntervals {
			return
		}
		span := int64(0)
		for _, gap := range gaps[intervals[1].Last:intervals[1].First] {
			span += gap
		}
		if span < 975 || span >= 975+500 {
			t.Fatalf("%d ms in the middle of %v", span, gaps)
		}
	})
}
