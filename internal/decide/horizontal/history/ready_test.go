package history_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// TestReadyAgainstSeconds: within the history, a pod's share of the load equals the share by a list of the number of
// ready pods at each second. The history is shorter than that list.
func TestReadyAgainstSeconds(t *testing.T) {
	const remembered = int(history.ReadyFor / time.Second)
	rapid.Check(t, func(t *rapid.T) {
		var r history.Ready
		// pods has the number of ready pods of each second.
		var pods []int32
		n := rapid.Int32Range(0, 5).Draw(t, "first")
		for now := range rapid.IntRange(1, 200).Draw(t, "seconds") {
			isObserved := now == 0 || rapid.Bool().Draw(t, "observed")
			if isObserved && rapid.Bool().Draw(t, "changed") {
				n = rapid.Int32Range(0, 5).Draw(t, "pods")
			}
			pods = append(pods, n)
			if isObserved {
				r = r.Observe(at(now), n, at(now))
			}
			if len(r) > history.MostReady {
				t.Fatalf("%d numbers of %d seconds", len(r), remembered)
			}
			to := now - rapid.IntRange(0, 20).Draw(t, "ago")
			from := max(to-rapid.IntRange(1, 30).Draw(t, "window"), now-remembered)
			if to <= 0 || from >= to {
				continue
			}
			want := 0.0
			for second := from; second < to; second++ {
				if p := pods[max(0, second)]; p > 0 {
					want += 1 / float64(p)
				}
			}
			want /= float64(to - from)
			if got := history.Share(r.Parts(nil), at(to).UnixNano(), at(to).Sub(at(from))); math.Abs(got-want) > 1e-9 {
				t.Fatalf("from %d to %d: %v, want %v (%v, %v)", from, to, got, want, r, pods)
			}
		}
	})
}

// TestReadyIsBounded: while pods come and go, the history has at most one number for each second, at any rate of
// decisions, and its buffer stops growing.
func TestReadyIsBounded(t *testing.T) {
	var r history.Ready
	observe := func(i int) {
		now := noon.Add(time.Duration(i) * 20 * time.Millisecond)
		r = r.Observe(now, int32(i%7), now)
	}
	for i := range 20_000 {
		if observe(i); len(r) > history.MostReady {
			t.Fatalf("%d numbers after %d decisions", len(r), i)
		}
	}
	i := 20_000
	if n := testing.AllocsPerRun(5000, func() { i++; observe(i) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestReadySince: the number of ready pods counts from when the last of them became ready, although a decision sees it
// later.
func TestReadySince(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		pods   int32
		since  int
		want   history.Ready
	}{
		"seen late":       {"at 4 s", 3, 4, history.Ready{{Time: at(0), Pods: 2}, {Time: at(4), Pods: 3}}},
		"seen at once":    {"at 15 s", 3, 15, history.Ready{{Time: at(0), Pods: 2}, {Time: at(15), Pods: 3}}},
		"from ahead":      {"the node's clock is", 3, 20, history.Ready{{Time: at(0), Pods: 2}, {Time: at(15), Pods: 3}}},
		"ready for long":  {"what was seen first was wrong", 3, -100, history.Ready{{Time: at(0), Pods: 3}}},
		"fewer":           {"when one went is not known", 1, -100, history.Ready{{Time: at(0), Pods: 2}, {Time: at(15), Pods: 1}}},
		"as many go":      {"as come", 2, 10, history.Ready{{Time: at(0), Pods: 2}}},
		"none are":        {"any more", 0, -100, history.Ready{{Time: at(0), Pods: 2}, {Time: at(15), Pods: 0}}},
		"within a second": {"of what was seen first, it is another number", 3, 0, history.Ready{{Time: at(0), Pods: 3}}},
	} {
		var r history.Ready
		r = r.Observe(at(0), 2, at(-100))
		if r = r.Observe(at(15), tt.pods, at(tt.since)); !slices.Equal(r, tt.want) {
			t.Errorf("%s: %s: %v, want %v", name, tt.reason, r, tt.want)
		}
	}
}
