package histogram

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// twin is a simple histogram: it stores every bucket, and always searches the first and last that count.
type twin struct {
	weight    [Buckets]float64
	total     float64
	reference time.Time
}

func (d *twin) span() (first, last int) {
	first, last = Buckets-1, 0
	for i, w := range d.weight {
		if w >= epsilon {
			first, last = min(first, i), i
		}
	}
	return first, last
}

func (d *twin) shift(s Shape, to time.Time) {
	to = to.Round(s.HalfLife)
	factor := 0.0
	if !d.reference.IsZero() {
		factor = math.Pow(2, -math.Round(float64(to.Sub(d.reference))/float64(s.HalfLife)))
	}
	first, last := d.span()
	for i := first; i <= last; i++ {
		d.weight[i] *= factor
	}
	d.total *= factor
	d.reference = to
}

func (d *twin) decayed(s Shape, weight float64, at time.Time) float64 {
	if d.reference.IsZero() || at.Sub(d.reference) > 100*s.HalfLife {
		d.shift(s, at)
	}
	return weight * math.Exp2(float64(at.Sub(d.reference))/float64(s.HalfLife))
}

func (d *twin) add(s Shape, value, weight float64, at time.Time) {
	weight = d.decayed(s, weight, at)
	d.weight[s.Find(value)] += weight
	d.total += weight
}

func (d *twin) subtract(s Shape, value, weight float64, at time.Time) {
	weight = d.decayed(s, weight, at)
	for _, w := range []*float64{&d.weight[s.Find(value)], &d.total} {
		if *w -= weight; *w < epsilon {
			*w = 0
		}
	}
}

func (d *twin) merge(s Shape, other twin) {
	if d.reference.Before(other.reference) {
		d.shift(s, other.reference)
	} else if other.reference.Before(d.reference) {
		other.shift(s, d.reference)
	}
	first, last := other.span()
	for i := first; i <= last; i++ {
		d.weight[i] += other.weight[i]
	}
	d.total += other.total
}

func (d *twin) percentile(s Shape, p float64) float64 {
	first, last := d.span()
	if d.weight[first] < epsilon {
		return 0
	}
	sum := 0.0
	for i := first; i < last; i++ {
		if sum += d.weight[i]; sum >= p*d.total {
			return s.Start(uint64(i) + 1)
		}
	}
	return s.Start(uint64(min(last+1, Buckets-1)))
}

// operations applies the operations in the bytes, eight for each, to a histogram and its twin.
func operations(t *testing.T, text []byte) {
	at := began
	var h [2]Histogram
	var d [2]twin
	for ; len(text) >= 8; text = text[8:] {
		kind, which, gap := text[0]%8, text[1]%2, binary.LittleEndian.Uint16(text[2:])
		value := float64(binary.LittleEndian.Uint32(text[4:])) * 1e-6
		weight := 0.1
		switch kind {
		case 0: // small and out of order
			h[which].Add(cpu, value*1e-3, 1e-3, at.Add(-time.Duration(gap)*time.Minute))
			d[which].add(cpu, value*1e-3, 1e-3, at.Add(-time.Duration(gap)*time.Minute))
		case 1:
			h[which].Subtract(cpu, value, weight, at)
			d[which].subtract(cpu, value, weight, at)
		case 2:
			h[which].Merge(cpu, &h[1-which])
			d[which].merge(cpu, d[1-which])
		case 3: // a long time
			at = at.Add(time.Duration(gap) * time.Hour)
			fallthrough
		default:
			at = at.Add(time.Duration(gap) * time.Second)
			h[which].Add(cpu, value, weight, at)
			d[which].add(cpu, value, weight, at)
		}
		for i := range h {
			equal(t, &h[i], &d[i])
		}
	}
}

func equal(t *testing.T, h *Histogram, d *twin) {
	t.Helper()
	for _, p := range []float64{0, 0.05, 0.5, 0.9, 0.95, 1} {
		if got, want := h.Percentile(cpu, p), d.percentile(cpu, p); got != want {
			t.Fatalf("percentile %v is %v, its twin's %v", p, got, want)
		}
	}
	if h.total != d.total || !h.Reference().Equal(d.reference) {
		t.Fatalf("%v of %s, its twin %v of %s", h.total, h.Reference(), d.total, d.reference)
	}
	first, last := d.span()
	for bucket, want := range d.weight {
		if bucket < first || bucket > last || want < vanishing {
			continue
		}
		if i, found := h.cells.find(uint64(bucket)); !found || h.cells.weight(i) != want {
			t.Fatalf("bucket %d differs from its twin's %v", bucket, want)
		}
	}
	if len(h.cells) > words(Buckets) {
		t.Fatalf("%d words", len(h.cells))
	}
}

func FuzzAgainstTwin(f *testing.F) {
	f.Add([]byte("a few operations, eight bytes each, in no order at all........."))
	f.Fuzz(operations)
}

func TestAgainstTwin(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 8, 1600).Draw(r, "operations")
		operations(t, text)
	})
}

// sample is a sample of a series.
type sample struct {
	value float64
	at    time.Time
}

func samples(r *rapid.T, name string) []sample {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) sample {
		return sample{
			value: math.Exp(rapid.Float64Range(-6, 6).Draw(r, "log of value")),
			at:    began.Add(time.Duration(rapid.IntRange(0, 14*24*60).Draw(r, "minute")) * time.Minute),
		}
	}), 1, 60).Draw(r, name)
}

func of(all ...[]sample) *Histogram {
	h := &Histogram{}
	for _, some := range all {
		for _, s := range some {
			h.Add(cpu, s.value, 0.1, s.at)
		}
	}
	return h
}

func TestPercentileIsMonotone(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := of(samples(r, "samples"))
		p := rapid.Float64Range(0, 1).Draw(r, "p")
		q := rapid.Float64Range(p, 1).Draw(r, "q")
		if h.Percentile(cpu, p) > h.Percentile(cpu, q) {
			r.Fatalf("percentile %v is above percentile %v", p, q)
		}
	})
}

func TestAddThenSubtract(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := of(samples(r, "samples"))
		before := h.Clone()
		extra := samples(r, "extra")
		for _, s := range extra {
			h.Add(cpu, s.value, 1, s.at)
		}
		for _, s := range extra {
			h.Subtract(cpu, s.value, 1, s.at)
		}
		if math.Abs(h.total-before.total) > 1e-9*before.total+epsilon*float64(len(extra)) {
			r.Fatalf("a total of %v became %v", before.total, h.total)
		}
		// After some weeks, a sample weighs less than epsilon, and is dropped.
		if h.Filled() > before.Filled()+len(extra) {
			r.Fatalf("%d buckets became %d", before.Filled(), h.Filled())
		}
		for i := range before.cells.len() {
			j, found := h.cells.find(before.cells.bucket(i))
			if was := before.cells.weight(i); was > 1e-3 &&
				(!found || math.Abs(h.cells.weight(j)-was) > 1e-9*before.total+epsilon) {
				r.Fatalf("bucket %d lost its weight %v", before.cells.bucket(i), was)
			}
		}
	})
}

func TestMergeIsTheSum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := samples(r, "a"), samples(r, "b")
		merged, sum := of(a), of(a, b)
		merged.Merge(cpu, of(b))
		scale := math.Exp2(float64(merged.Reference().Sub(sum.Reference())) / float64(day))
		if math.Abs(merged.total*scale-sum.total) > 1e-9*sum.total {
			r.Fatalf("merged %v, added %v", merged.total*scale, sum.total)
		}
		for bucket := uint64(0); bucket < Buckets; bucket++ {
			i, inMerged := merged.cells.find(bucket)
			j, inSum := sum.cells.find(bucket)
			var x, y float64
			if inMerged {
				x = merged.cells.weight(i) * scale
			}
			if inSum {
				y = sum.cells.weight(j)
			}
			if math.Abs(x-y) > 1e-9*sum.total+2*epsilon*max(scale, 1) {
				r.Fatalf("bucket %d has %v merged, %v added", bucket, x, y)
			}
		}
	})
}
