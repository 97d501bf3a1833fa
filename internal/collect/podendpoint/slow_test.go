package podendpoint

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func millis(values ...int) (took []time.Duration) {
	for _, v := range values {
		took = append(took, time.Duration(v)*time.Millisecond)
	}
	return took
}

func slowDemand(pods []int, took []time.Duration, namespaces []string) *demand {
	if namespaces == nil {
		namespaces = make([]string, len(pods))
	}
	return &demand{pods: pods, took: took, namespaces: namespaces}
}

// Scrapes that take long yield to others. Those below their part are not affected.
func TestCapSlow(t *testing.T) {
	for name, c := range map[string]struct {
		pods   []int
		took   []time.Duration
		want   []int
		spaces []string
	}{
		"quick":             {[]int{100_000, 10}, millis(49, 1), []int{100_000, 10}, nil},
		"slow, but not too": {[]int{500, 10}, millis(1000, 1), []int{500, 10}, nil},
		"too slow":          {[]int{1000, 10}, millis(1000, 1), []int{512, 10}, nil},
		"two":               {[]int{1000, 1000, 10}, millis(1000, 500, 1), []int{256, 512, 10}, nil},
		"a small one":       {[]int{1000, 12}, millis(1000, 1000), []int{500, 12}, nil},
		"more than pods":    {slices.Repeat([]int{2}, 1000), slices.Repeat(millis(1000), 1000), slices.Repeat([]int{1}, 1000), nil},
		"two namespaces": {[]int{1000, 1000, 1000, 200}, millis(1000, 1000, 1000, 1000), []int{104, 104, 104, 200},
			[]string{"a", "a", "a", "b"}},
		"pages of a pod each": {append(slices.Repeat([]int{1}, 1000), 200), slices.Repeat(millis(1000), 1001),
			append(slices.Repeat([]int{1}, 1000), 200), append(slices.Repeat([]string{"a"}, 1000), "b")},
	} {
		if got := slowDemand(c.pods, c.took, c.spaces).capSlow(512 * time.Second); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 20).Draw(t, "pods")
		took := make([]time.Duration, len(pods))
		total := time.Duration(0)
		for i := range took {
			took[i] = time.Duration(rapid.IntRange(0, 1000).Draw(t, "took")) * time.Millisecond
		}
		for i, n := range slowDemand(pods, took, nil).capSlow(512 * time.Second) {
			if n > pods[i] || n < min(1, pods[i]) || took[i] < slowAfter && n != pods[i] {
				t.Fatalf("%d of %d", n, pods[i])
			}
			if took[i] >= slowAfter {
				total += time.Duration(n) * took[i]
			}
		}
		if total > 513*time.Second {
			t.Fatalf("%s", total)
		}
	})
}

// Slow pages are sampled where there is CPU for all.
func TestShareOfSlowPages(t *testing.T) {
	b, d := newBudget(), demandOf(10, 100, 50*us)
	d.add("team-a", 1000, 50*us, time.Second)
	if got := b.share(d); len(got) != 101 || got[0] != unlimited || got[100] != (limits{512, 1}) {
		t.Errorf("%v", got)
	}
}

// slowly serves a page after a while.
func slowly(page func(net.Conn, *http.Request), after time.Duration) func(net.Conn, *http.Request) {
	return func(w net.Conn, r *http.Request) {
		<-time.After(after)
		page(w, r)
	}
}

// Pages that always take long, many times as many as scrapes may be under way, delay no other once that is detected.
func TestManySlowPages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const slow, paths, neighbours, settled = 20, 20, 50, 8 * time.Second
		f := begin(t, Config{MaxConcurrent: 16})
		for i := range slow {
			f.page[fmt.Sprintf("pod-%d", i)] = slowly(f.requests(10), 900*time.Millisecond)
		}
		for i := range neighbours {
			f.page[fmt.Sprintf("pod-%d", slow+i)] = f.requests(10)
		}
		bad, good := rateQuery(pods(0, slow)), rateQuery(pods(slow, neighbours))
		good.Key.Name = "neighbour"
		_, _ = f.run(good, 3*time.Second)
		began := time.Now()
		for range 30 {
			f.lookAtPages(bad, paths)
			_, _ = f.run(good, time.Second)
		}
		longest := time.Duration(0)
		for i := range neighbours {
			times := f.times(fmt.Sprintf("pod-%d", slow+i))
			for k := 1; k < len(times); k++ {
				if times[k-1].Sub(began) > settled {
					longest = max(longest, times[k].Sub(times[k-1]))
				}
			}
		}
		if longest == 0 || longest > 1200*time.Millisecond {
			t.Errorf("a neighbour waited %s", longest)
		}
		f.forget(bad.Key)
		<-time.After(2 * time.Second) // until the running scrapes have ended
	})
}

// lookAtPages reads metrics of an object that are on this many pages of each pod.
func (f *fleet) lookAtPages(q *query, pages int) {
	for n := range pages {
		other, spec := *q, *q.Spec
		spec.Path = fmt.Sprintf("/metrics?n=%d", n)
		other.Spec = &spec
		_, _ = f.run(&other, 0)
	}
}

// longestGap returns the longest time between requests to these pods, from a time on.
func (f *fleet) longestGap(first, n int, after time.Time) (longest time.Duration) {
	for i := range n {
		times := f.times(fmt.Sprintf("pod-%d", first+i))
		for k := 1; k < len(times); k++ {
			if times[k-1].After(after) {
				longest = max(longest, times[k].Sub(times[k-1]))
			}
		}
	}
	return longest
}

// More slow pages than scrapes may be under way, each with one pod: they yield to the pods of another namespace, also
// to slow ones among them. They are still read in turn.
func TestSlowNamespace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const objects, paths, quick, moderate = 20, 10, 40, 10
		f := begin(t, Config{MaxConcurrent: 16})
		for i := range objects {
			f.page[fmt.Sprintf("pod-%d", i)] = slowly(f.requests(10), 900*time.Millisecond)
		}
		for i := range quick {
			f.page[fmt.Sprintf("pod-%d", objects+i)] = f.requests(10)
		}
		for i := range moderate {
			f.page[fmt.Sprintf("pod-%d", objects+quick+i)] = slowly(f.requests(10), 300*time.Millisecond)
		}
		good := rateQuery(pods(objects, quick+moderate))
		_, _ = f.run(good, 3*time.Second)
		began := time.Now()
		for range 40 {
			for i := range objects {
				for n := range paths {
					q := rateQuery(pods(i, 1))
					q.Key = observe.WLA("team-b", fmt.Sprintf("slow-%d", i))
					q.Spec.Path = fmt.Sprintf("/metrics?n=%d", n)
					_, _ = f.run(q, 0)
				}
			}
			_, _ = f.run(good, time.Second)
		}
		settled := began.Add(10 * time.Second)
		if longest := f.longestGap(objects, quick+moderate, settled); longest == 0 || longest > 1300*time.Millisecond {
			t.Errorf("a neighbour waited %s", longest)
		}
		if got, err := f.run(good, 0); err != nil || strings.Contains(got, "-") {
			t.Errorf("%s, %v", got, err)
		}
		for i := range objects {
			if n := len(f.times(fmt.Sprintf("pod-%d", i))); n < 30 {
				t.Errorf("pod-%d was asked %d times for its pages", i, n)
			}
			f.forget(observe.WLA("team-b", fmt.Sprintf("slow-%d", i)))
		}
		f.forget(good.Key)
		<-time.After(2 * time.Second) // until the running scrapes have ended
	})
}

// A namespace with more pages than the budget suffices for does not delay the scrapes of another one.
func TestManyPagesOfANamespace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const hostile, paths, neighbours = 20, 30, 30
		f := begin(t, Config{MaxPerSecond: 100})
		for i := range hostile + neighbours {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		bad, good := rateQuery(pods(0, hostile)), rateQuery(pods(hostile, neighbours))
		bad.Key.Namespace, good.Key.Name = "hostile", "neighbour"
		for range 40 {
			f.lookAtPages(bad, paths)
			_, _ = f.run(good, time.Second)
		}
		longest := time.Duration(0)
		for i := range neighbours {
			times := f.times(fmt.Sprintf("pod-%d", hostile+i))
			for k := len(times) - 15; k < len(times); k++ {
				longest = max(longest, times[k].Sub(times[k-1]))
			}
		}
		if longest > 1200*time.Millisecond {
			t.Errorf("%s between two scrapes of a pod", longest)
		}
	})
}
