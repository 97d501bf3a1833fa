package recurring

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	forecastplayback "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// TestFollows: the load of 4 pods becomes 10 in minute 10 and 4 again in minute 20.
func TestFollows(t *testing.T) {
	h := History{Start: monday, Pods: make([]float64, 40)}
	for i := range h.Pods {
		h.Pods[i] = 4
		if i >= 10 && i < 20 {
			h.Pods[i] = 10
		}
	}
	c := config()
	c.Utilization = 1
	p := newPlayback(&h, &c)
	for second, want := range map[int]int32{
		0: 4, 10*60 + 10: 4,
		10*60 + 20:        10, // 20 s later it asks.
		20*60 + 5*60 + 10: 10, // The highest of five minutes holds.
		20*60 + 5*60 + 20: 4,  //
		39*60 + 50:        4,
	} {
		if got := p.counts[second/10]; got != want {
			t.Errorf("after %d s it asks for %d pods, want %d", second, got, want)
		}
	}
	// 6 pods lack for 20 s and a start-up time of a minute.
	sum := 0.0
	for i, lacking := range p.lacking {
		if lacking != 0 && (i < 60 || i >= 68) {
			t.Errorf("after %d s %v pods lack", i*10, lacking)
		}
		sum += float64(lacking) * minutesPerStep
	}
	if math.Abs(sum-8) > 1e-4 {
		t.Errorf("%v pod-minutes lack, want 8", sum)
	}
	// 8 pods from minute 7 until minute 12: 4 of 6 pods do not lack; 4 more are asked for until it asks itself.
	g := p.gain(span{start: 7 * stepsPerMinute, end: 12 * stepsPerMinute}, 8)
	if want := 4 * 80.0 / 60; math.Abs(g.Avoided-want) > 1e-4 {
		t.Errorf("it avoids %v pod-minutes, want %v", g.Avoided, want)
	}
	if want := 4 * 200.0 / 60; math.Abs(g.Added-want) > 1e-4 {
		t.Errorf("it adds %v pod-minutes, want %v", g.Added, want)
	}
}

// TestTolerance: within 10 % of the target nothing changes.
func TestTolerance(t *testing.T) {
	m := forecastplayback.Minute{Tolerance: tolerance, MinReplicas: 2, MaxReplicas: 40}
	for pods, want := range map[float64]int32{10: 10, 10.9: 10, 11.1: 12, 9.1: 10, 8.9: 9, 100: 40, 0: 2} {
		if got := m.Wanted(pods, 10); got != want {
			t.Errorf("10 pods at a load of %v become %d, want %d", pods, got, want)
		}
	}
}

// TestUnknownLoadKeepsTheCount: without samples an autoscaler does nothing, and nothing is known to lack.
func TestUnknownLoadKeepsTheCount(t *testing.T) {
	h := History{Start: monday, Pods: []float64{12, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(),
		math.NaN(), 12}}
	c := config()
	p := newPlayback(&h, &c)
	for i, count := range p.counts {
		if count != 12 || p.lacking[i] != 0 {
			t.Errorf("step %d: %d pods, %v lack", i, count, p.lacking[i])
		}
	}
}

// TestGainIsThatOfBoth: what a schedule does is the difference between the whole history with and without it.
func TestGainIsThatOfBoth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h := History{Start: monday, Pods: make([]float64, 60)}
		for i := range h.Pods {
			if h.Pods[i] = 20 * random.Float64(); random.Float64() < 0.1 {
				h.Pods[i] = math.NaN()
			}
		}
		c := config()
		c.StartUp = time.Duration(random.IntN(300)) * time.Second
		p := newPlayback(&h, &c)
		start := random.IntN(len(p.counts))
		s, replicas := span{start: start, end: start + 1 + random.IntN(120)}, int32(1+random.IntN(20))
		got := p.gain(s, replicas)

		with := naive(p, s, replicas)
		without := naive(p, span{}, 0)
		if math.Abs(got.Avoided-(without-with)) > 1e-3 {
			t.Fatalf("it avoids %v, want %v - %v", got.Avoided, without, with)
		}
		added := 0.0
		for i := s.start; i < min(s.end, len(p.counts)); i++ {
			added += float64(max(0, replicas-p.counts[i])) / 6
		}
		if math.Abs(got.Added-added) > 1e-6 {
			t.Fatalf("it adds %v, want %v", got.Added, added)
		}
	}
}

// naive is what lacks with a schedule, in pod-minutes: of each step, the fewest pods since the start-up time.
func naive(p *playback, s span, replicas int32) float64 {
	sum := 0.0
	for i := range p.counts {
		fewest := int32(math.MaxInt32)
		for k := max(0, i-p.startUp); k <= i; k++ {
			count := p.counts[k]
			if k >= s.start && k < s.end {
				count = max(count, replicas)
			}
			fewest = min(fewest, count)
		}
		sum += p.lack(i, fewest) / 6
	}
	return sum
}
