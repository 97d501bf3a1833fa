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
			if !p.IsRunning {
				continue
			}
			r, isAny := p.Scraped(&p.Containers[0], w.Now())
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
// sample and its own time in between; of a pod that has just started each scrape has a new one.
func TestHousekeeping(t *testing.T) {
	c := config(100)
	c.Housekeeping, c.Seed, c.Replicas = every, 7, 5
	times := sampled(t, newWorldOf(t, c))
	samples := map[time.Duration]bool{}
	for name, taken := range times {
		if name == "workload-5" {
			taken = isFresh(t, taken, time.Minute+c.StartAfter)
		}
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
	if len(times) != 6 {
		t.Errorf("%d pods were sampled", len(times))
	}
}

// isFresh checks that each scrape after a start had a new sample, and returns those from the second of cAdvisor on.
func isFresh(t *testing.T, taken []time.Duration, started time.Duration) (later []time.Duration) {
	t.Helper()
	first := started + firstSample
	for i, at := range taken {
		if at < first+every {
			if i > 0 && at-taken[i-1] != 250*time.Millisecond || i == 0 && at != started {
				t.Errorf("sample %d after the start at %v is of %v", i, started, at)
			}
			continue
		}
		if i+1 < len(taken) && taken[i+1]-at >= every {
			if at > first+2*every {
				t.Errorf("each scrape has a new sample until %v", at)
			}
			return taken[i:]
		}
	}
	t.Fatal("each scrape has a new sample")
	return nil
}

// TestIdleContainers: where nothing changes, the interval doubles from the second sample on. It falls back after the
// longest one of 15 s.
func TestIdleContainers(t *testing.T) {
	for interval, want := range map[time.Duration][]int{
		10 * time.Second: {10, 15, 10, 15, 10},
		time.Second:      {1, 2, 4, 8, 15, 1, 2, 4, 8, 15, 1},
	} {
		h := housekeeping{interval: interval, seed: 3}
		still, works := h.container(idle, 0, 0), h.container(busy, 1, 0)
		for _, seconds := range want {
			for s, least := range map[*sampling]time.Duration{still: time.Duration(seconds) * time.Second, works: interval} {
				before := s.next
				h.taken(s)
				if gap := s.next - before; gap < least || gap >= 2*least {
					t.Errorf("class %d, every %v: %v between two samples, want %v to twice that", s.class, interval, gap, least)
				}
			}
		}
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
			r, _ := p.Scraped(&p.Containers[0], w.Now())
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
		p := w.Pods()[0]
		r, _ := p.Scraped(&p.Containers[0], w.Now())
		return r.At
	}
	first, again, other := at(1), at(1), at(2)
	if first != again || first == other {
		t.Errorf("sampled at %v, %v and %v", first, again, other)
	}
}
