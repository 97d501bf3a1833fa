package world

import (
	"testing"
	"time"
)

const every = 10 * time.Second

// sampled are the times of each pod's samples in ten minutes. A sixth pod comes after one.
func sampled(t *testing.T, w *World) map[string][]time.Duration {
	t.Helper()
	times := map[string][]time.Duration{}
	for w.Now() < 10*time.Minute {
		if w.Now() == time.Minute {
			w.Scale(6)
		}
		w.AdvanceTo(w.Now() + 250*time.Millisecond)
		for _, p := range w.Pods() {
			r, isAny := p.Scraped(w.Now())
			if known := times[p.Name]; isAny && (len(known) == 0 || known[len(known)-1] != r.At) {
				times[p.Name] = append(known, r.At)
				if w.Now()-r.At > 250*time.Millisecond || r.CPUSeconds > p.mustStats(t) {
					t.Errorf("%s at %v: %+v", p.Name, w.Now(), r)
				}
			}
		}
	}
	return times
}

// TestHousekeeping: a kubelet samples each pod by itself, once in one to two intervals, and answers with the newest
// sample and its own time in between; a pod that starts soon has one.
func TestHousekeeping(t *testing.T) {
	c := config(100)
	c.Housekeeping, c.Seed, c.Replicas = every, 7, 5
	times := sampled(t, newWorldOf(t, c))
	samples := map[time.Duration]bool{}
	for name, taken := range times {
		if len(taken) < 27 || len(taken) > 60 {
			t.Errorf("%s was sampled %d times in ten minutes", name, len(taken))
		}
		for i, at := range taken {
			if i > 0 && (at-taken[i-1] < every || at-taken[i-1] > 2*every) {
				t.Errorf("%s was sampled at %v and %v", name, taken[i-1], at)
			}
			if samples[at] {
				t.Errorf("%s was sampled together with another", name)
			}
			samples[at] = true
		}
	}
	if len(times) != 6 || times["workload-5"][0] != time.Minute+c.StartAfter+firstSample {
		t.Errorf("%d pods were sampled, the new one first at %v", len(times), times["workload-5"])
	}
}

func (p *Pod) mustStats(t *testing.T) (cpuSeconds float64) {
	t.Helper()
	s, runs := p.Stats()
	if !runs {
		t.Errorf("%s does not run", p.Name)
	}
	return s.CPUSeconds
}

// TestFreshSamples: without an interval each scrape samples anew, and what a pod serves itself always is of now.
func TestFreshSamples(t *testing.T) {
	for _, every := range []time.Duration{0, every} {
		c := config(100)
		c.Housekeeping = every
		w := newWorldOf(t, c)
		w.AdvanceTo(61 * time.Second)
		for _, p := range w.Pods() {
			r, _ := p.Scraped(w.Now())
			if isNow := r.At == w.Now(); isNow != (every == 0) {
				t.Errorf("with an interval of %v, %s is sampled at %v", every, p.Name, r.At)
			}
			if page, _ := p.Current(w.Now()); page.At != w.Now() || page.ServedTotal <= r.ServedTotal && every > 0 {
				t.Errorf("with an interval of %v, the page of %s is of %v", every, p.Name, page.At)
			}
		}
	}
}

// TestHousekeepingSeeds: a seed has the samples at the same times again, another seed at others.
func TestHousekeepingSeeds(t *testing.T) {
	at := func(seed uint64) time.Duration {
		c := config(100)
		c.Housekeeping, c.Seed = every, seed
		w := newWorldOf(t, c)
		w.AdvanceTo(time.Minute)
		r, _ := w.Pods()[0].Scraped(w.Now())
		return r.At
	}
	first, again, other := at(1), at(1), at(2)
	if first != again || first == other {
		t.Errorf("sampled at %v, %v and %v", first, again, other)
	}
}
