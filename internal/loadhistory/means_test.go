package loadhistory

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMeansOfTime: the mean is over time: a load of each second counts as much as one that held for 15 seconds, and one
// that lasts into the next minute counts there. Without a controller the load is unknown.
func TestMeansOfTime(t *testing.T) {
	var h History
	add := func(from, to, every int, load float64) {
		for second := from; second < to; second += every {
			h.Add(after(second), Point{Load: load, Wanted: 20})
		}
	}
	add(0, 240, 15, 2)
	add(240, 300, 1, 20)
	add(300, 350, 15, 2)
	// The last load held until 370, and there was no decision for ten minutes.
	add(1000, 1100, 15, 8)
	want := map[int]map[int]float64{
		60:  {0: 2, 180: 2, 240: 20, 300: 2, 960: 8},
		300: {0: 5.6, 300: 2},
	}
	for every, means := range want {
		place := minutes
		if every == 300 {
			place++
		}
		n := 0
		h.tiers[place].each(&grains[place], func(p *Point) bool {
			if load, isIn := means[int(p.At.Sub(begin).Seconds())]; isIn {
				n++
				if math.Abs(p.Load/load-1) > 0.011 {
					t.Errorf("%d seconds from %v: a load of %g, want %g", every, p.At, p.Load, load)
				}
			}
			return true
		})
		if n != len(means) {
			t.Errorf("%d points of %d seconds, want %d", n, every, len(means))
		}
	}
}

// TestMeansBetweenMinutes: the load of a decision within a minute lasts into the next one; the time of an unknown load
// is left out.
func TestMeansBetweenMinutes(t *testing.T) {
	var h History
	for i, load := range []float64{4, 8, 4, math.NaN(), 4, 8} {
		h.Add(after(50+20*i), Point{Load: load, Wanted: 20})
	}
	h.Add(after(240), Point{Load: 1})
	h.Add(after(300), Point{Load: 1})
	// There was no decision in the fourth minute, so it has no point.
	want := []float64{4, (10*4 + 20*8 + 20*4) / 50.0, (20*4 + 30*8) / 50.0, 1}
	var got []float64
	h.tiers[minutes].each(&grains[minutes], func(p *Point) bool {
		got = append(got, p.Load)
		return true
	})
	if len(got) != len(want) {
		t.Fatalf("%g, want %g", got, want)
	}
	for i := range want {
		if math.Abs(got[i]/want[i]-1) > 0.011 {
			t.Errorf("%g, want %g", got, want)
		}
	}
}

// naive keeps all points of a resolution.
type naive struct {
	every  int64
	points []Point
	// These are the loads of all moments with their seconds, in order.
	seconds []int64
	loads   []float64
}

// holds returns for how long the load of a moment lasts.
func (n *naive) holds(i int) int64 {
	holds := int64(30)
	if i > 0 {
		holds = max(holds, 2*(n.seconds[i]-n.seconds[i-1]))
	}
	return holds
}

// mean averages over each second of a step.
func (n *naive) mean(step int64) float64 {
	sum, known := 0.0, 0
	i := 0
	for second := step; second < step+n.every; second++ {
		for i+1 < len(n.seconds) && n.seconds[i+1] <= second {
			i++
		}
		if since := second - n.seconds[i]; since >= 0 && since < n.holds(i) && !math.IsNaN(n.loads[i]) {
			sum += n.loads[i]
			known++
		}
	}
	return sum / float64(known)
}

// finish computes the loads.
func (n *naive) finish() {
	for i := range n.points {
		n.points[i].Load = n.mean(n.points[i].At.Unix())
	}
}

func (n *naive) add(at int64, p Point) {
	step := at / n.every * n.every
	if k := len(n.points); k == 0 || n.points[k-1].At.Unix() != step {
		n.points = append(n.points, Point{At: time.Unix(step, 0).UTC()})
	}
	last := &n.points[len(n.points)-1]
	n.seconds, n.loads = append(n.seconds, at), append(n.loads, p.Load)
	last.Wanted, last.Ready, last.Limit, last.PerPodMilli = p.Wanted, p.Ready, p.Limit, p.PerPodMilli
}

// TestAgainstTwin compares each resolution with a twin that keeps everything, through restarts.
func TestAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &History{}
		var twins [len(grains)]naive
		for i := range twins {
			twins[i].every = int64(grains[i].every / time.Second)
		}
		at := begin.Unix()
		for range rapid.IntRange(1, 300).Draw(t, "points") {
			at += rapid.Int64Range(0, 400).Draw(t, "pause")
			p := Point{
				Load:   rapid.SampledFrom([]float64{math.NaN(), 0, 0.01, 1, 1.01, 3, 900}).Draw(t, "load"),
				Wanted: rapid.Int32Range(0, 300).Draw(t, "wanted"), Ready: rapid.Int32Range(0, 3).Draw(t, "ready"),
				Limit: Limit(rapid.IntRange(0, int(limits)-1).Draw(t, "limit")), PerPodMilli: float32(rapid.IntRange(0, 2).Draw(t, "per pod")),
			}
			h.Add(time.Unix(at, 0), p)
			for i := range twins {
				twins[i].add(at, p)
			}
		}
		b, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		again := &History{}
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		for i := range twins {
			twins[i].finish()
			compare(t, &h.tiers[i], &grains[i], twins[i].points)
			compare(t, &again.tiers[i], &grains[i], twins[i].points)
		}
	})
}

// compare compares a tier with the expected points; the last one has not ended.
func compare(t *rapid.T, tier *tier, g *grain, want []Point) {
	want = want[:len(want)-1]
	var got []Point
	tier.each(g, func(p *Point) bool {
		got = append(got, *p)
		return true
	})
	if len(got) > len(want) || len(got) == 0 && len(want) > 0 {
		t.Fatalf("%v: %d points, want up to %d", g.every, len(got), len(want))
	}
	for i, p := range want[len(want)-len(got):] {
		q := got[i]
		isSame := math.Abs(p.Load-q.Load) <= max(0.0101*p.Load, leastLoad/2) || math.IsNaN(p.Load) && math.IsNaN(q.Load)
		if !isSame || !p.At.Equal(q.At) || p.Wanted != q.Wanted || p.Ready != q.Ready || p.Limit != q.Limit ||
			p.PerPodMilli != q.PerPodMilli {
			t.Fatalf("%v: %+v, want %+v", g.every, q, p)
		}
	}
}
