package loadhistory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// busy is an autoscaler whose load and counts change all the time: a day's curve with bursts, noise in each sample,
// pods that need a while to be ready, and a scale-down that is stabilized for five minutes.
type busy struct {
	random *rand.Rand
	// peak is in pods. noise is a sample's, as a fraction of the load, and correlation that of consecutive samples.
	peak, noise, correlation float64
	// startUp is in seconds.
	startUp int
	// isTwoMetrics is true if another metric has the highest proposal at times.
	isTwoMetrics bool

	burst, last   float64
	wanted, ready int32
	// highest are the highest counts of the last five minutes, each of 15 seconds.
	highest [20]int32
	// starting holds the times at which pods get ready.
	starting []int
}

func (b *busy) at(second int) Point {
	if second%15 == 0 {
		b.burst = 0.98*b.burst + 0.02*b.random.NormFloat64()
		b.highest[second/15%len(b.highest)] = 0
	}
	b.last = b.correlation*b.last + math.Sqrt(1-b.correlation*b.correlation)*b.random.NormFloat64()
	day := 0.6 - 0.4*math.Cos(float64(second)/86400*2*math.Pi)
	p := Point{Load: max(0, b.peak*day*(1+2*b.burst+b.noise*b.last)), PerPodMilli: 350}
	if b.isTwoMetrics && b.random.IntN(20) == 0 {
		p.PerPodMilli = 100
	}
	p.Limit = b.scale(second, p.Load)
	p.Wanted, p.Ready = b.wanted, b.ready
	return p
}

// scale decides as an HPA does, and makes pods ready.
func (b *busy) scale(second int, load float64) (limit Limit) {
	now := b.wanted
	if now == 0 || math.Abs(load/float64(now)-1) > 0.1 {
		now = int32(max(1, math.Ceil(load)))
	}
	highest := &b.highest[second/15%len(b.highest)]
	*highest = max(*highest, now)
	if now < b.wanted {
		for _, other := range b.highest {
			now = max(now, other)
		}
		if now = min(now, b.wanted); now == b.wanted {
			limit = ScaleDownStabilized
		}
	}
	for range now - b.wanted {
		b.starting = append(b.starting, second+b.startUp+b.random.IntN(1+b.startUp/3))
	}
	left := b.starting[:0]
	for _, at := range b.starting {
		if at <= second {
			b.ready++
		} else {
			left = append(left, at)
		}
	}
	b.starting, b.wanted = left, now
	b.ready = min(b.ready, now)
	return limit
}

// TestReachOfBusyLoads: the history of loads and counts that change all the time reaches back as far as
// docs/forecast.md promises.
func TestReachOfBusyLoads(t *testing.T) {
	const hour, days = 3600, 17
	for _, c := range []struct {
		busy
		days int
	}{
		{busy{peak: 8, noise: 0.05, correlation: 0.8, startUp: 40}, 14},
		{busy{peak: 20, noise: 0.1, startUp: 60}, 14},
		{busy{peak: 20, noise: 0.03, correlation: 0.8, startUp: 60, isTwoMetrics: true}, 14},
		{busy{peak: 200, noise: 0.05, correlation: 0.8, startUp: 60, isTwoMetrics: true}, 13},
		{busy{peak: 500, noise: 0.1, startUp: 60}, 14},
		{busy{peak: 1000, noise: 0.1, correlation: 0.8, startUp: 120}, 12},
	} {
		b := &c.busy
		name := fmt.Sprintf("%v pods, %v %% noise, two metrics %v", b.peak, 100*b.noise, b.isTwoMetrics)
		b.random = rand.New(rand.NewPCG(1, 2))
		var h History
		// A decision each 15 seconds, and in the end each second.
		for second, every := 0, 15; second < days*24*hour; second += every {
			if second >= (days*24-2)*hour {
				every = 1
			}
			h.Add(after(second), b.at(second))
		}
		checkSize(t, &h)
		for i, least := range []time.Duration{15 * time.Minute, 24 * time.Hour, time.Duration(c.days) * 24 * time.Hour} {
			first, _ := h.tiers[i].first(&grains[i])
			kept := after(days * 24 * hour).Sub(first)
			t.Logf("%s: %v of points of %v", name, kept, grains[i].every)
			if kept < least {
				t.Errorf("%s: %v of points of %v, want %v", name, kept, grains[i].every, least)
			}
		}
	}
}

func BenchmarkAddBusy(b *testing.B) {
	load := busy{random: rand.New(rand.NewPCG(1, 2)), peak: 200, noise: 0.05, correlation: 0.8, startUp: 60}
	points := make([]Point, 3600)
	for second := range points {
		points[second] = load.at(second)
	}
	var h History
	second := 0
	b.ReportAllocs()
	for b.Loop() {
		h.Add(after(second), points[second%len(points)])
		second++
	}
}
