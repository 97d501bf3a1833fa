package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func TestFollowingSpreads(t *testing.T) {
	const period = 15 * time.Second
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seconds := make([]int, 15)
	for i := range 15000 {
		uid := types.UID("uid-" + time.Duration(i).String())
		at := now
		for range 4 {
			next := Following(uid, at, period)
			if gap := next.Sub(at); gap > period || gap < period/2 {
				t.Fatalf("%s follows after %s", uid, gap)
			}
			at = next
		}
		seconds[at.Unix()%15]++
	}
	for second, n := range seconds {
		if n < 850 || n > 1150 {
			t.Errorf("%d of 15000 HPAs fall on second %d of the period, 1000 would be even", n, second)
		}
	}
}

// TestHold: a held HPA is not taken, and is due afterwards as it was, or as it became meanwhile.
func TestHold(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, earlier := range map[string]time.Duration{"as it was": 0, "earlier meanwhile": time.Minute} {
		t.Run(name, func(t *testing.T) {
			q, key := New(), observe.HPA("shop", "web")
			if q.Hold(key) {
				t.Error("an unknown item is held")
			}
			q.AddFull(key, now)
			if !q.Hold(key) || q.Hold(key) {
				t.Error("it is not held, or held twice")
			}
			if earlier > 0 {
				q.AddFull(key, now.Add(-earlier))
			}
			if item, _, isDue := q.Take(now); isDue {
				t.Errorf("%+v is taken while it is held", item)
			}
			q.Release(key)
			item, _, isDue := q.Take(now)
			if !isDue || !item.Due.Equal(now.Add(-earlier)) || !item.IsFull {
				t.Errorf("%+v, due %v", item, isDue)
			}
			if q.Hold(key) {
				t.Error("an item that a worker has is held")
			}
			q.Done(key, now.Add(time.Hour))
			if !q.Hold(key) {
				t.Error("it is not held after its decision")
			}
		})
	}
}
