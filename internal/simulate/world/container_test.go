package world

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// TestSidecars: sidecars use what they are said to beside the container that serves, each is sampled by itself, and one
// that is idle less often. They go with their pod.
func TestSidecars(t *testing.T) {
	c := config(20)
	c.Container, c.Housekeeping, c.Seed, c.Replicas = "app", every, 5, 1
	c.Sidecars = []Sidecar{{Name: "idle"}, {Name: "busy", CPURequestMilli: 100, CPUMilli: 70}}
	w := newWorldOf(t, c)
	p := w.Pods()[0]
	samples := map[time.Duration]string{}
	last := map[string]time.Duration{}
	longest := map[string]time.Duration{}
	for w.Now() < 10*time.Minute {
		w.AdvanceTo(w.Now() + 250*time.Millisecond)
		for k := range p.Containers {
			of := &p.Containers[k]
			r, isAny := p.Scraped(of, w.Now())
			if !isAny || r.At == last[of.Name] {
				continue
			}
			if other, found := samples[r.At]; found {
				t.Errorf("%s is sampled together with %s", of.Name, other)
			}
			if before, found := last[of.Name]; found {
				longest[of.Name] = max(longest[of.Name], r.At-before)
			}
			samples[r.At], last[of.Name] = of.Name, r.At
		}
	}
	if longest["app"] > 2*every || longest["busy"] > 2*every || longest["idle"] < 25*time.Second ||
		longest["idle"] > 2*longestInterval {
		t.Errorf("the longest times between two samples are %v", longest)
	}
	used := func(k int) float64 { return p.Read(&p.Containers[k], w.Now()).CPUSeconds }
	if used(0) < 100 || used(1) != startSeconds || math.Abs(used(2)-startSeconds-0.07*600) > 1e-6 {
		t.Errorf("used in ten minutes: %v, %v and %v CPU seconds", used(0), used(1), used(2))
	}
	if s, _ := p.Stats(); math.Abs(p.UsedMilli()-s.CPUMilli-70) > 1e-6 {
		t.Errorf("all use %vm, the first %vm", p.UsedMilli(), s.CPUMilli)
	}
}

// TestSidecarsTakeRoom: nodes have room for what all containers request.
func TestSidecarsTakeRoom(t *testing.T) {
	c := config(20)
	c.Supply = Supply{CPUMilli: 1200, Nodes: 1, Delay: time.Minute}
	if w := newWorldOf(t, c); w.slots() != 2 {
		t.Errorf("room for %d pods of 500m", w.slots())
	}
	c.Replicas, c.Sidecars = 1, []Sidecar{{Name: "proxy", CPURequestMilli: 101, CPUMilli: 50}}
	w := newWorldOf(t, c)
	if w.slots() != 1 {
		t.Errorf("room for %d pods of 601m", w.slots())
	}
	w.AdvanceTo(time.Minute)
	w.Scale(0)
	w.AdvanceTo(2 * time.Minute)
	before := w.nodes[0].model.Stats().CPUSeconds
	w.AdvanceTo(3 * time.Minute)
	if after := w.nodes[0].model.Stats(); len(w.Pods()) > 0 || after.CPUSeconds-before > 60*after.CPUMilli/1000+1e-6 ||
		after.CPUMilli != workloadmodel.New(1).AddNode("", 0).Stats().CPUMilli+50 {
		t.Errorf("without pods the node uses %vm", after.CPUMilli)
	}
}

// TestClocks: the samples of a node are of its clock, and what a pod says itself is not.
func TestClocks(t *testing.T) {
	c := config(20)
	c.Replicas, c.ClockOffsets = 3, []time.Duration{0, 7 * time.Second}
	w := newWorldOf(t, c)
	w.AdvanceTo(time.Minute)
	for i, want := range []time.Duration{0, 7 * time.Second, 0} {
		p := w.Pods()[i]
		r, _ := p.Scraped(&p.Containers[0], w.Now())
		page, _ := p.Current(w.Now())
		if r.At-w.Now() != want || p.Read(&p.Containers[0], w.Now()).At != r.At || page.At != w.Now() {
			t.Errorf("pod %d is sampled at %v, and says that it is %v; it is %v", i, r.At, page.At, w.Now())
		}
	}
}

// TestOutages: the first groups of nodes do not answer for a time.
func TestOutages(t *testing.T) {
	c := config(20)
	c.Outages = []Outage{{From: 10 * time.Second, To: 20 * time.Second, Groups: 2}}
	w := newWorldOf(t, c)
	for at, isSilent := range map[time.Duration]bool{9 * time.Second: false, 10 * time.Second: true, 20 * time.Second: false} {
		w.now = at
		if w.IsSilent(0) != isSilent || w.IsSilent(1) != isSilent || w.IsSilent(2) {
			t.Errorf("at %v the nodes are silent: %v, %v, %v", at, w.IsSilent(0), w.IsSilent(1), w.IsSilent(2))
		}
	}
}
