package startup_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/startup"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestPercentile90(t *testing.T) {
	const week = 7 * 24 * time.Hour
	type add struct {
		ago, took time.Duration
	}
	tens := make([]add, 10)
	for i := range tens {
		tens[i] = add{time.Hour, time.Duration(i+1) * time.Second}
	}
	for name, c := range map[string]struct {
		adds []add
		want time.Duration
	}{
		"none":                              {nil, 0},
		"one":                               {[]add{{0, 12 * time.Second}}, 12 * time.Second},
		"two":                               {[]add{{0, 12 * time.Second}, {0, 20 * time.Second}}, 20 * time.Second},
		"the ninth of ten":                  {tens, 9 * time.Second},
		"a part of a second is a whole one": {[]add{{0, 12*time.Second + 1}}, 13 * time.Second},
		"at once":                           {[]add{{0, 0}}, time.Second},
		"a week ago":                        {[]add{{week, 12 * time.Second}}, 12 * time.Second},
		"longer ago":                        {[]add{{week + time.Second, 12 * time.Second}}, 0},
		"a repaired pod":                    {[]add{{0, time.Hour}, {0, 3 * time.Second}}, 3 * time.Second},
		"slow pods count":                   {[]add{{0, 20 * time.Minute}, {0, 3 * time.Second}}, 15 * time.Minute},
		"ready before it was created":       {[]add{{0, -time.Second}}, 0},
	} {
		var times startup.Times
		for _, a := range c.adds {
			times.Add(noon.Add(-a.ago), a.took)
		}
		if got := times.Percentile90(noon); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLastTwenty compares with a list of all.
func TestLastTwenty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.IntRange(1, 900), 1, 60).Draw(t, "seconds")
		var times startup.Times
		for _, seconds := range all {
			times.Add(noon, time.Duration(seconds)*time.Second)
		}
		last := slices.Sorted(slices.Values(all[max(0, len(all)-20):]))
		want := last[int(math.Ceil(0.9*float64(len(last))))-1]
		if got := times.Percentile90(noon); got != time.Duration(want)*time.Second {
			t.Errorf("%v of %v, want %d s", got, last, want)
		}
	})
}
