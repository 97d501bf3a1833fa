package sample_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/sample"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestLeast(t *testing.T) {
	for pods, want := range map[int]int{-1: 0, 0: 0, 1: 1, 3: 3, 4: 4, 5: 4, 10: 7, 50: 12, 100: 14, 1000: 16, 1_000_000: 16} {
		if got := sample.Least(pods); got != want {
			t.Errorf("%d of %d pods, want %d", got, pods, want)
		}
	}
}

func repeat(pods, objects int) []int { return slices.Repeat([]int{pods}, objects) }

func TestSizes(t *testing.T) {
	for name, tt := range map[string]struct {
		pods    []int
		budget  int
		sizes   []int
		stretch float64
	}{
		"all fit":                          {[]int{3, 50, 100}, 153, []int{3, 50, 100}, 1},
		"the large ones are sampled":       {[]int{3, 10, 1000}, 113, []int{3, 10, 85}, 1},
		"the least":                        {[]int{1000, 1000}, 38, []int{16, 16}, 1},
		"the least, in twice the time":     {[]int{1000, 1000}, 19, []int{16, 16}, 2},
		"less than the least, in 5 s":      {[]int{1000, 1000}, 4, []int{8, 8}, 5},
		"one each, in even more time":      {[]int{100, 100, 1, 0, -1}, 1, []int{1, 1, 1, 0, 0}, 5},
		"more objects than the budget has": {repeat(1, 20), 2, repeat(1, 20), 10},
		"nothing":                          {nil, 10, []int{}, 1},
		"no budget":                        {[]int{2}, 0, []int{2}, 2},
	} {
		sizes, stretch := sample.Sizes(tt.pods, tt.budget)
		if diff := cmp.Diff(tt.sizes, sizes); diff != "" || stretch != tt.stretch {
			t.Errorf("%s: stretched %v times, want %v\n%s", name, stretch, tt.stretch, diff)
		}
	}
}

// TestSizesKeepTheBudget: the scrapes of the stretched interval are within the budget; every object is sampled, as a
// whole if it fits; a larger budget makes no sample smaller and no interval longer.
func TestSizesKeepTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 3000)), 0, 40).Draw(t, "pods")
		budget := rapid.IntRange(1, 5000).Draw(t, "budget")
		sizes, stretch := sample.Sizes(pods, budget)
		scraped, all := 0, 0
		for i, n := range pods {
			scraped += sample.Scraped(n, sizes[i])
			all += n
			switch {
			case sizes[i] < min(n, 1) || sizes[i] > n:
				t.Fatalf("%d of %d pods", sizes[i], n)
			case stretch < sample.MaxStretch && sizes[i] < sample.Least(n):
				t.Fatalf("%d of %d pods, and only stretched %v times", sizes[i], n, stretch)
			}
		}
		if float64(scraped) > float64(budget)*stretch+1e-6 {
			t.Fatalf("%d scrapes, stretched %v times: %v", scraped, stretch, sizes)
		}
		if all <= budget && (!slices.Equal(sizes, pods) || stretch != 1) {
			t.Fatalf("all fit, and %v", sizes)
		}
		more, shorter := sample.Sizes(pods, budget+rapid.IntRange(1, 500).Draw(t, "more"))
		for i := range pods {
			if more[i] < sizes[i] || shorter > stretch {
				t.Fatalf("with a larger budget %v, stretched %v times, instead of %v and %v", more, shorter, sizes, stretch)
			}
		}
	})
}

func uidsOf(n int) []uint64 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	all := make([]uint64, n)
	for i := range all {
		all[i] = rng.Uint64()
	}
	return all
}

// TestEveryPodIsSampled follows a sample for one full round: every pod is in it, each for Stay, and is scraped before
// for the shortest window.
func TestEveryPodIsSampled(t *testing.T) {
	for _, tt := range []struct{ pods, size int }{{1000, 16}, {10, 7}, {40, 1}, {100, 60}} {
		t.Run(fmt.Sprintf("%d of %d", tt.size, tt.pods), func(t *testing.T) {
			uids := uidsOf(tt.pods)
			var c sample.Circle
			inSample, scraped := map[int]int{}, map[int]int{}
			turn := int(sample.Stay.Seconds()) * tt.pods / tt.size
			var dst []int
			for s := range turn + 60 {
				dst = c.Choose(noon.Add(time.Duration(s)*time.Second), uids, tt.size, dst[:0])
				if len(dst) != sample.Scraped(tt.pods, tt.size) {
					t.Fatalf("%d pods", len(dst))
				}
				if s < 60 || s >= turn {
					// At the edges only a part is in the test.
					continue
				}
				for i, pod := range dst {
					if scraped[pod]++; i < tt.size {
						inSample[pod]++
					}
				}
			}
			for pod, seconds := range inSample {
				ahead := scraped[pod] - seconds
				if seconds > 31 || ahead > 6+30/tt.size {
					t.Errorf("pod %d: %d s in the sample, %d s before", pod, seconds, ahead)
				}
			}
			seen := len(scraped)
			if want := tt.pods * (turn - 60) / turn; seen < want {
				t.Errorf("%d pods were scraped, want %d", seen, want)
			}
		})
	}
}

// TestPodsComeAndGo: other pods leave a sample as it is, except for the slots that they take.
func TestPodsComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uids := rapid.SliceOfNDistinct(rapid.Uint64(), 2, 60, rapid.ID).Draw(t, "uids")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		var c sample.Circle
		c.Choose(noon, uids, size, nil)
		before := chosen(uids, c.Choose(noon, uids, size, nil))
		gone := rapid.SampledFrom(uids).Draw(t, "gone")
		fewer := slices.DeleteFunc(slices.Clone(uids), func(u uint64) bool { return u == gone })
		after := chosen(fewer, c.Choose(noon, fewer, size, nil))
		delete(before, gone)
		for uid := range before {
			if !after[uid] {
				t.Fatalf("pod %d left the sample with another", uid)
			}
		}
		again := chosen(uids, c.Choose(noon, uids, size, nil))
		for uid := range before {
			if !again[uid] {
				t.Fatalf("pod %d left the sample when another came", uid)
			}
		}
	})
}

func chosen(uids []uint64, indices []int) map[uint64]bool {
	all := map[uint64]bool{}
	for _, i := range indices {
		all[uids[i]] = true
	}
	return all
}

func TestChooseAtTheEdges(t *testing.T) {
	var c sample.Circle
	if got := c.Choose(noon, nil, 5, []int{7}); !slices.Equal(got, []int{7}) {
		t.Errorf("of no pods: %v", got)
	}
	if got := c.Choose(noon, []uint64{1, 2}, 0, nil); len(got) != 0 {
		t.Errorf("no pods of two: %v", got)
	}
	got := c.Choose(noon, []uint64{1, 2, 3}, 9, nil)
	if all := slices.Sorted(slices.Values(got)); !slices.Equal(all, []int{0, 1, 2}) {
		t.Errorf("more than all: %v", got)
	}
	uids := uidsOf(50)
	first := chosen(uids, c.Choose(noon.Add(time.Hour), uids, 5, nil)[:5])
	// A clock that is set back moves nothing.
	if again := chosen(uids, c.Choose(noon, uids, 5, nil)[:5]); !maps.Equal(first, again) {
		t.Error("an earlier sample was added")
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			uids, now := uidsOf(n), noon
			var c sample.Circle
			var dst []int
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Second)
				dst = c.Choose(now, uids, sample.Least(n), dst[:0])
			}
		})
	}
}

func BenchmarkSizes(b *testing.B) {
	pods := repeat(10, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		sample.Sizes(pods, 10_000)
	}
}
