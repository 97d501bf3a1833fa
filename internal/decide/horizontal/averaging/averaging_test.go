package averaging

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPodWindow: an average begins with readiness as soon as that is long enough ago;
// before, it reaches back.
func TestPodWindow(t *testing.T) {
	for _, tt := range []struct{ readyFor, window, want time.Duration }{
		{time.Hour, StableWindow, StableWindow},
		{10 * time.Second, StableWindow, 10 * time.Second},
		{ShortestWindow, StableWindow, ShortestWindow},
		{ShortestWindow - 1, StableWindow, StableWindow},
		{0, StableWindow, StableWindow},
		{10 * time.Second, 7 * time.Second, 7 * time.Second},
		{6 * time.Second, 7 * time.Second, 6 * time.Second},
	} {
		if got := PodWindow(tt.readyFor, tt.window); got != tt.want {
			t.Errorf("ready for %v, a window of %v: %v, want %v", tt.readyFor, tt.window, got, tt.want)
		}
	}
}

func TestCommonWindow(t *testing.T) {
	old := func(n int) []time.Duration { return slices.Repeat([]time.Duration{time.Hour}, n) }
	for name, tt := range map[string]struct {
		readyFor []time.Duration
		want     time.Duration
	}{
		"no pods":                          {nil, StableWindow},
		"all for long":                     {old(3), StableWindow},
		"one just now, who does not count": {append(old(3), 4*time.Second), StableWindow},
		"one who counts":                   {append(old(3), 6*time.Second), 6 * time.Second},
		"the youngest who counts":          {append(old(3), 12*time.Second, 4*time.Second, 8*time.Second), 8 * time.Second},
		"alone":                            {[]time.Duration{5 * time.Second}, 5 * time.Second},
		"a tenth":                          {append(old(9), 6*time.Second), StableWindow},
		"more than a tenth: but a tenth":   {append(old(9), 6*time.Second, 9*time.Second), 9 * time.Second},
		"many at once, one a little later": {append(slices.Repeat([]time.Duration{11 * time.Second}, 10), 7*time.Second),
			11 * time.Second},
		"those who do not count, no tenths": {append(append(old(3), 6*time.Second),
			slices.Repeat([]time.Duration{time.Second}, 50)...), 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var c CommonWindow
			c.Add(7 * time.Second)
			c.Reset(DefaultShare)
			for _, age := range tt.readyFor {
				c.Add(age)
			}
			if got := c.Window(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestShare: a tolerance permits its part of the pods to have averages of their own, and no more than the default does.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		up, down float64
		of, want int
	}{
		{0.1, 0.1, 9, 0}, {0.1, 0.1, 10, 1}, {0.1, 0.1, 39, 3}, {0.5, 0.5, 40, 4}, {0.02, 0.3, 49, 0}, {0.3, 0.02, 50, 1},
		{0, 0.1, 1000, 0}, {-1, 0.1, 1000, 0},
	} {
		if got := ShareOf(tt.up, tt.down).pods(tt.of); got != tt.want {
			t.Errorf("tolerances %v and %v: %d of %d pods, want %d", tt.up, tt.down, got, tt.of, tt.want)
		}
	}
}

// TestLoadCountsOnce: pods that become ready share a load that stays the same. Whenever
// they do, their averages add up to no more than the load and the tenth that is
// overlooked: at most a tenth of all are younger than the window, and each of those did
// at most as much as one of nine tenths of all does, 1/9 of the load together. With
// windows of their own, one old pod and three new ones add up to half as much again.
func TestLoadCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		readyFor := slices.Repeat([]time.Duration{time.Hour}, rapid.IntRange(1, 30).Draw(t, "old"))
		for _, age := range rapid.SliceOfN(rapid.IntRange(0, 20_000), 0, 60).Draw(t, "new") {
			readyFor = append(readyFor, time.Duration(age)*time.Millisecond)
		}
		if got := sumOfAverages(readyFor, jointWindow(readyFor)); got > 1+1.0/9+1e-9 {
			t.Fatalf("the averages add up to %.3f of the load", got)
		}
	})
	readyFor := []time.Duration{time.Hour, 5 * time.Second, 5 * time.Second, 5 * time.Second}
	if got := sumOfAverages(readyFor, StableWindow); got < 1.49 {
		t.Errorf("with windows of their own, %.3f of the load: nothing is left to mend", got)
	}
	if got := sumOfAverages(readyFor, jointWindow(readyFor)); got < 1-1e-9 || got > 1+1e-9 {
		t.Errorf("with one window, %.3f of the load", got)
	}
}

func jointWindow(readyFor []time.Duration) time.Duration {
	var c CommonWindow
	c.Reset(DefaultShare)
	for _, age := range readyFor {
		c.Add(age)
	}
	return c.Window()
}

// sumOfAverages is what the averages of the pods that count add up to, of a load of 1
// that at each moment all ready pods share. It adds up milliseconds.
func sumOfAverages(readyFor []time.Duration, window time.Duration) (sum float64) {
	upTo := make([]float64, StableWindow.Milliseconds()+1) // a ready pod's use in the last k ms
	for k := 1; k < len(upTo); k++ {
		ago, ready := time.Duration(k)*time.Millisecond, 0
		for _, age := range readyFor {
			if age >= ago {
				ready++
			}
		}
		upTo[k] = upTo[k-1] + 1/float64(ready)
	}
	for _, age := range readyFor {
		if age >= ShortestWindow {
			own := PodWindow(age, window).Milliseconds()
			sum += upTo[own] / float64(own)
		}
	}
	return sum
}

// BenchmarkCommonWindow is what the rule costs for a target, at rest and while half of its
// pods are new.
func BenchmarkCommonWindow(b *testing.B) {
	for name, fresh := range map[string]int{"settled": 0, "half new": 500} {
		b.Run(fmt.Sprintf("pods=1000/%s", name), func(b *testing.B) {
			var c CommonWindow
			b.ReportAllocs()
			for b.Loop() {
				c.Reset(DefaultShare)
				for i := range 1000 {
					age := time.Hour
					if i < fresh {
						age = ShortestWindow + time.Duration(i*7919%10_000)*time.Millisecond
					}
					c.Add(age)
				}
				c.Window()
			}
		})
	}
}
