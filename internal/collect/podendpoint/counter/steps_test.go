package counter_test

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// second adds the page of a second; grown is its counter.
func second(h *counter.History, s int, grown float64) metric.Sample {
	at := noon.Add(time.Duration(s) * time.Second)
	h.Add(at, at, values(grown))
	return h.Average(averaging.StableWindow)
}

// TestSteps: a page that changes at any period in seconds gives the true rate, wherever in the window its changes are,
// and no single interval of it shows a surge.
func TestSteps(t *testing.T) {
	for step, within := range map[int]float64{1: 0, 2: 0.2, 3: 0.25, 5: 0, 10: 0, 15: 0, 20: 0, 30: 0, 60: 0} {
		h := counter.New(counter.Config{Kind: counter.Rate})
		for s := range 600 {
			got := second(&h, s, float64(s/step*step*10))
			if s < 2*step {
				continue
			}
			if d := math.Abs(float64(got.Milli)/10_000 - 1); !got.Present || d > within {
				t.Fatalf("steps of %d s: %d/1000 per second after %d s, want 10", step, got.Milli, s)
			}
			if step >= 5 && h.Recent()[0].Present {
				t.Fatalf("steps of %d s: a single interval after %d s", step, s)
			}
		}
	}
}

// TestStepsBegin: the first step after the first page has no rate, as the time over which it grew is unknown.
func TestStepsBegin(t *testing.T) {
	h := counter.New(counter.Config{Kind: counter.Rate})
	for s := range 20 {
		second(&h, s, 0)
	}
	for s := 20; s < 80; s++ {
		if got := second(&h, s, 600); got.Present || !h.AwaitsChange() {
			t.Fatalf("after %d s: %+v", s, got)
		}
	}
	if got := second(&h, 80, 1200); got.Milli != 10_000 {
		t.Errorf("after the second step: %+v", got)
	}
}

// TestStepsEnd: the end of a load is detected half a step after the next one should have come; after a single step,
// only after the longest.
func TestStepsEnd(t *testing.T) {
	h := counter.New(counter.Config{Kind: counter.Rate})
	var got metric.Sample
	s := 0
	for ; s <= 120; s++ {
		got = second(&h, s, float64(s/30*300))
	}
	for ; s <= 120+45; s++ {
		got = second(&h, s, 1200)
	}
	if got.Milli != 10_000 {
		t.Errorf("the next step may be late: %+v", got)
	}
	if got = second(&h, s, 1200); got.Milli != 0 || !got.Present {
		t.Errorf("it did not come: %+v", got)
	}
	h = counter.New(counter.Config{Kind: counter.Rate})
	for s := range 120 {
		got = second(&h, s, float64(min(1, s/20)))
	}
	if got.Milli != 0 || !got.Present {
		t.Errorf("a counter that grew once: %+v", got)
	}
}

// TestLoadAfterIdleTime: a load that begins after a while without any has a rate with the second page that shows it.
func TestLoadAfterIdleTime(t *testing.T) {
	for _, idle := range []int{10, 40, 300} {
		h := counter.New(counter.Config{Kind: counter.Rate})
		for s := range idle {
			second(&h, s, 100)
		}
		second(&h, idle, 200)
		got := second(&h, idle+1, 300)
		if want := int64(200_000 / min(15, idle+1)); got.Milli < want*9/10 || got.Milli > want*11/10 {
			t.Errorf("idle for %d s, then 100 per second: %d/1000, want %d", idle, got.Milli, want)
		}
		if !h.Recent()[1].Present {
			t.Errorf("idle for %d s: no single intervals", idle)
		}
	}
}

// TestWindow: the average is over the window of the metric.
func TestWindow(t *testing.T) {
	for _, kind := range []counter.Kind{counter.Rate, counter.Gauge} {
		h := counter.New(counter.Config{Kind: kind, Window: time.Minute})
		for s := range 300 {
			at := noon.Add(time.Duration(s) * time.Second)
			h.Add(at, at, values(float64(s*10)))
		}
		if got := h.Average(time.Minute); got.Window < 45*time.Second || got.Window > time.Minute {
			t.Errorf("%d: %+v", kind, got)
		}
	}
}

// TestIdleSummary: a gauge that is NaN counts as absent.
func TestIdleSummary(t *testing.T) {
	for _, value := range []float64{math.NaN(), math.Inf(1)} {
		h := counter.New(counter.Config{Kind: counter.Gauge, IsAbsentZero: true})
		if got := h.Add(noon, noon, values(value)); got != counter.First || h.Average(window).Milli != 0 {
			t.Errorf("%v: %s", value, got)
		}
		next := noon.Add(time.Second)
		h.Add(next, next, values(value, 5))
		if got := h.Recent()[0].Milli; got != 5000 {
			t.Errorf("beside %v: %d/1000", value, got)
		}
		h = counter.New(counter.Config{Kind: counter.Gauge})
		if got := h.Add(noon, noon, values(value)); got != counter.Refused {
			t.Errorf("%v where absent is not zero: %s", value, got)
		}
	}
}
