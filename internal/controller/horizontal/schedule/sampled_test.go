package schedule

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestLaterSamples: the decision on an event is one on samples only if these have arrived, not if they are due later.
func TestLaterSamples(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for later, want := range map[time.Duration]bool{0: true, 150 * time.Millisecond: true, 10 * time.Second: false} {
		q, key := New(), observe.WLA("shop", "web")
		q.AddFull(key, now.Add(time.Hour))
		q.AddEarly(key, now.Add(later), true)
		q.AddEarly(key, now, false)
		if item, _, isDue := q.Take(now); !isDue || item.IsSampled != want {
			t.Errorf("samples are due in %s: %+v", later, item)
		}
	}
}

// TestSamplesKeepTheirDecision: the decision on an event, which lowers nothing, does not replace one on samples that is
// due later; it is merged with one that is due in a moment.
func TestSamplesKeepTheirDecision(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for later, isKept := range map[time.Duration]bool{150 * time.Millisecond: false, 900 * time.Millisecond: true} {
		q, key := New(), observe.WLA("shop", "web")
		q.AddFull(key, now.Add(time.Hour))
		q.AddEarly(key, now.Add(later), true)
		q.AddEarly(key, now, false)
		if _, _, isDue := q.Take(now); !isDue {
			t.Fatal("the event leads to no decision")
		}
		q.Done(key, now.Add(time.Hour))
		item, _, isDue := q.Take(now.Add(later))
		if isDue != isKept || isDue && !item.IsSampled {
			t.Errorf("samples due in %s: decided then: %v, %+v", later, isDue, item)
		}
	}
}
