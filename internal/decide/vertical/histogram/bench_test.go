package histogram

import (
	"fmt"
	"testing"
	"time"
)

// filled returns a histogram with samples in that many buckets.
func filled(buckets uint64) *Histogram {
	h := &Histogram{}
	for i := range buckets {
		h.Add(cpu, cpu.Start(20+2*i)*1.01, 0.1, began.Add(time.Duration(i)*time.Minute))
	}
	return h
}

func BenchmarkAdd(b *testing.B) {
	for _, buckets := range []uint64{10, 60} {
		b.Run(fmt.Sprintf("buckets=%d", buckets), func(b *testing.B) {
			h, i := filled(buckets), 0
			for b.Loop() {
				i++
				h.Add(cpu, cpu.First*float64(10+i%8), 0.1, began.Add(time.Duration(i)*time.Second))
			}
		})
	}
}

func BenchmarkPercentile(b *testing.B) {
	for _, buckets := range []uint64{10, 60} {
		b.Run(fmt.Sprintf("buckets=%d", buckets), func(b *testing.B) {
			h := filled(buckets)
			for b.Loop() {
				h.Percentile(cpu, 0.9)
			}
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, buckets := range []uint64{10, 60} {
		b.Run(fmt.Sprintf("buckets=%d", buckets), func(b *testing.B) {
			h, into := filled(buckets), filled(buckets)
			for b.Loop() {
				into.Merge(cpu, h)
			}
		})
	}
}
