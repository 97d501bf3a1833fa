package rate

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
)

// TestWindowWithAnEnd: for any samples, an average up to a moment before the newest of them is that of a counter that
// rises evenly between two samples, and there is none before the oldest.
func TestWindowWithAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(1_800_000_000, 0)
		store := New(Config{Span: time.Hour, MaxAge: time.Hour})
		node := kubelettest.Filled(1, 1, start.Add(-time.Hour))
		pod := &node.Pods[0]
		now, counter := start, []float64{float64(pod.Containers[0].CPUNanos)}
		at := []time.Time{now}
		for i := range rapid.IntRange(1, 16).Draw(t, "samples") {
			if i > 0 {
				gap := time.Duration(rapid.IntRange(1, 30).Draw(t, "gap")) * time.Second
				nanos := rapid.Int64Range(0, int64(gap)*4).Draw(t, "nanos")
				node.Burn(nanos)
				now = now.Add(gap)
				at, counter = append(at, now), append(counter, counter[i-1]+float64(nanos))
			}
			if _, err := store.Ingest("node-1", now, node.Text(now)); err != nil {
				t.Fatal(err)
			}
		}
		value := func(x time.Time) float64 {
			for i := 1; i < len(at); i++ {
				if !at[i].Before(x) {
					part := float64(x.Sub(at[i-1])) / float64(at[i].Sub(at[i-1]))
					return counter[i-1] + part*(counter[i]-counter[i-1])
				}
			}
			return counter[0]
		}
		end := start.Add(time.Duration(rapid.Int64Range(-1000, now.Sub(start).Milliseconds()).Draw(t, "end")) * time.Millisecond)
		window := time.Duration(rapid.IntRange(1, 60).Draw(t, "window")) * time.Second
		found, _ := store.Usage(Query{
			Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: window, End: end, Now: now,
		}, nil)
		isThere := len(at) > 1 && end.Sub(start) >= ShortestGap
		if len(found) != 1 || found[0].HasCPU != isThere {
			t.Fatalf("up to %s after the first of %d samples: %+v", end.Sub(start), len(at), found)
		}
		if !isThere {
			return
		}
		from := end.Add(-window)
		if from.Before(start) {
			from = start
		}
		want := (value(end) - value(from)) / end.Sub(from).Seconds()
		got := &found[0].CPU
		if !got.End.Equal(end) || got.Span != end.Sub(from) || float64(got.NanoCores) < want*0.999-50 || float64(got.NanoCores) > want*1.001+50 {
			t.Fatalf("%+v, want %.0f over %s up to %s", got, want, end.Sub(from), end)
		}
	})
}
