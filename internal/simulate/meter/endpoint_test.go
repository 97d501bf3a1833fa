package meter

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// TestPages: a counter becomes a rate, and the values of a gauge a mean, over the stable window and in the last three
// intervals.
func TestPages(t *testing.T) {
	var m Meter
	if m.AverageOf(Rate, noon, averaging.StableWindow).Present || m.AverageOf(Gauge, noon, averaging.StableWindow).Present {
		t.Error("there is a value without a reading")
	}
	served := 0.0
	for second := range 40 {
		m.Read(Reading{At: time.Duration(second) * time.Second, ServedTotal: served, InPod: float64(second % 4)})
		served += 10 * float64(second%4)
		if second > 0 {
			continue
		}
		if s := m.AverageOf(Gauge, noon, averaging.StableWindow); !s.Present || s.Window != 0 {
			t.Errorf("one value of a gauge: %+v", s)
		}
		if s := m.AverageOf(Rate, noon, averaging.StableWindow); s.Present {
			t.Errorf("one value of a counter: %+v", s)
		}
	}
	for page, want := range map[Page]struct {
		average int64
		recent  [3]int64
	}{
		// From second 24 to 38, the counter grows by 10·(0+1+2+3)·3 + 10·(0+1+2), in 15 s.
		Rate:  {14_000, [3]int64{20_000, 10_000, 0}},
		Gauge: {1_600, [3]int64{3000, 2000, 1000}},
	} {
		if got, want := m.AverageOf(page, noon, averaging.StableWindow), sample(want.average, 39*time.Second,
			15*time.Second); got != want {
			t.Errorf("page %d: average %+v, want %+v", page, got, want)
		}
		var recent metric.Recent
		for k, milli := range want.recent {
			recent[k] = sample(milli, time.Duration(39-k)*time.Second, time.Second)
		}
		if got := m.RecentOf(page, noon); got != recent {
			t.Errorf("page %d: %+v, want %+v", page, got, recent)
		}
	}
}
