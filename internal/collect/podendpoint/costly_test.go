package podendpoint

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func micros(values ...int) (costs []time.Duration) {
	for _, v := range values {
		costs = append(costs, time.Duration(v)*us)
	}
	return costs
}

// Objects with large pages have smaller samples, the others keep theirs.
func TestCapCostly(t *testing.T) {
	for name, c := range map[string]struct {
		pods  []int
		costs []time.Duration
		want  []int
	}{
		"alike":              {[]int{1000, 10, 10}, micros(50, 60, 40), []int{1000, 10, 10}},
		"one is costly":      {[]int{1000, 10, 10}, micros(5000, 50, 50), []int{33, 10, 10}},
		"one is very costly": {[]int{1000, 10, 10}, micros(500_000, 50, 50), []int{1, 10, 10}},
		"unknown":            {[]int{1000, 10, 10}, micros(0, 0, 0), []int{1000, 10, 10}},
		"a small costly one": {[]int{3, 10, 10}, micros(5000, 50, 50), []int{3, 10, 10}},
	} {
		if got := capCostly(c.pods, c.costs, time.Second/2); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 20).Draw(t, "pods")
		costs := make([]time.Duration, len(pods))
		for i := range costs {
			costs[i] = time.Duration(rapid.IntRange(0, 10_000).Draw(t, "cost")) * us
		}
		for i, n := range capCostly(pods, costs, time.Second/2) {
			if n > pods[i] || n < min(1, pods[i]) {
				t.Fatalf("%d of %d", n, pods[i])
			}
		}
	})
}
