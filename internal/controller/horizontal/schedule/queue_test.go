package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
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
