package recommend

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// BenchmarkDecide decides on one object with two containers in two pods, with a sample of each a minute.
func BenchmarkDecide(b *testing.B) {
	w := newWorkload(divergence.Default, "app", "proxy")
	w.seen.Pods = []string{"a", "b"}
	w.has("app", "proxy")
	for _, pod := range w.seen.Pods {
		for _, c := range w.seen.Containers {
			w.seen.Samples = append(w.seen.Samples, Sample{Pod: pod, Container: c.Container})
		}
	}
	step := 0
	pass := func() {
		step++
		for i := range w.seen.Samples {
			w.seen.Samples[i].Use = vertical.Of(vertical.Amount(50+(step+7*i)%40*20), vertical.Amount(1e8+(step*31+i)%50*1e6))
		}
		w.pass()
	}
	for range 2000 {
		pass()
	}
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
}

// BenchmarkQuietDecide decides without new samples.
func BenchmarkQuietDecide(b *testing.B) {
	w := newWorkload(divergence.Default, "app", "proxy")
	w.uses(100, 1<<28)
	w.lives(26 * time.Hour)
	w.seen.Samples = nil
	b.ReportAllocs()
	for b.Loop() {
		w.pass()
	}
}
