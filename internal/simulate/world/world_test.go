package world

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

func config(load float64) Config {
	profile := workloadmodel.DefaultProfile()
	profile.IdleCPUMilli = 0
	return Config{
		Load: workloadmodel.Constant(load), Resources: workloadmodel.Resources{CPURequestMilli: 500, CPULimitMilli: 500},
		Profile:    profile,
		StartAfter: 2 * time.Second, ReadyAfter: 3 * time.Second, Grace: 10 * time.Second, Replicas: 2, Groups: 3,
	}
}

func newWorldOf(t *testing.T, c Config) *World {
	t.Helper()
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func count(w *World) (placed, running, ready int) {
	for _, p := range w.Pods() {
		if p.IsPlaced {
			placed++
		}
		if p.IsRunning {
			running++
		}
		if p.IsReady && !p.Deleting {
			ready++
		}
	}
	return placed, running, ready
}

// TestStart: a pod runs and is ready when its time has come, to the moment.
func TestStart(t *testing.T) {
	w := newWorldOf(t, config(10))
	if _, _, ready := count(w); ready != 2 || w.Changed() {
		t.Errorf("%d ready at the beginning", ready)
	}
	w.AdvanceTo(10500 * time.Millisecond)
	w.Scale(4)
	if !w.Changed() || w.Changed() {
		t.Error("new pods are not reported, or always")
	}
	if _, running, ready := count(w); running != 2 || ready != 2 {
		t.Errorf("at once %d run and %d are ready", running, ready)
	}
	w.AdvanceTo(12500 * time.Millisecond)
	if _, running, ready := count(w); running != 4 || ready != 2 {
		t.Errorf("after 2 s %d run, %d are ready", running, ready)
	}
	w.AdvanceTo(15499 * time.Millisecond)
	if _, _, ready := count(w); ready != 2 {
		t.Errorf("just before 5 s %d are ready", ready)
	}
	w.AdvanceTo(15500 * time.Millisecond)
	if _, _, ready := count(w); ready != 4 {
		t.Errorf("after 5 s %d are ready", ready)
	}
}

// TestRemove: first what does not run, then what is not ready, then the newest.
func TestRemove(t *testing.T) {
	w := newWorldOf(t, config(10))
	w.Scale(3)
	w.AdvanceTo(3 * time.Second)
	w.Scale(4)
	w.AdvanceTo(4 * time.Second) // pod 2 runs, pod 3 does not
	for _, want := range []string{"workload-3", "workload-2", "workload-1"} {
		w.Scale(w.Replicas() - 1)
		for _, p := range w.Pods() {
			if p.Name == want && !p.Deleting {
				t.Errorf("%s stays", want)
			}
		}
	}
	w.AdvanceTo(5 * time.Second)
	if n := len(w.Pods()); n != 1 {
		t.Errorf("%d pods are left", n)
	}

}

// TestStop: a pod that is to go takes a node and no requests until it has stopped: some time after its hook and after its
// queue is empty, and after its grace at the latest. One that does not run goes at once.
func TestStop(t *testing.T) {
	const calm, tooMuch = 10, 500 // requests per second; a full queue of 200 takes 4 s
	for name, test := range map[string]struct {
		grace, preStop, stopAfter int // seconds
		load                      float64
		isNew                     bool
		want                      int
	}{
		"stops at once":           {grace: 30, load: calm, want: 0},
		"takes its time":          {grace: 30, stopAfter: 5, load: calm, want: 5},
		"its hook comes first":    {grace: 30, preStop: 7, stopAfter: 2, load: calm, want: 9},
		"is killed":               {grace: 3, stopAfter: 5, load: calm, want: 3},
		"its hook is killed":      {grace: 3, preStop: 9, load: calm, want: 3},
		"its queue is finished":   {grace: 30, stopAfter: 2, load: tooMuch, want: 6},
		"its queue is killed":     {grace: 2, stopAfter: 2, load: tooMuch, want: 2},
		"a queue within its hook": {grace: 30, preStop: 10, stopAfter: 1, load: tooMuch, want: 11},
		"does not run":            {grace: 30, preStop: 7, stopAfter: 5, load: calm, isNew: true, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(test.load)
			c.Grace, c.PreStop, c.StopAfter = seconds(test.grace), seconds(test.preStop), seconds(test.stopAfter)
			w := newWorldOf(t, c)
			deleted := 20500 * time.Millisecond
			w.AdvanceTo(deleted)
			if test.isNew {
				w.Scale(3)
			}
			w.Scale(w.Replicas() - 1)
			gone := deleted + seconds(test.want)
			w.AdvanceTo(gone - 1)
			if n := len(w.Pods()); test.want > 0 && n != int(w.Replicas())+1 {
				t.Errorf("%d pods just before", n)
			}
			for _, p := range w.Pods() {
				if s, _ := p.Stats(); p.Deleting && (!p.IsPlaced || s.ServedPerSecond > 0 && test.load == calm &&
					test.want > 0) {
					t.Errorf("%s has no node, or serves", p.Name)
				}
			}
			// That a queue is empty is noticed at the next full second.
			w.AdvanceTo(max(gone+time.Millisecond, (gone + time.Second/2).Truncate(time.Second)))
			if n := len(w.Pods()); n != int(w.Replicas()) {
				t.Errorf("%d pods just after", n)
			}
		})
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// TestNodes: what finds no room waits for a node, and a node that is empty for long
// goes.
func TestNodes(t *testing.T) {
	c := config(10)
	c.Supply = Supply{CPUMilli: 1000, Nodes: 1, Delay: 30 * time.Second, IdleFor: time.Minute}
	w := newWorldOf(t, c)
	w.Scale(5) // two on the node, three wait for two more
	if placed, _, _ := count(w); placed != 2 || w.Nodes() != 1 {
		t.Errorf("%d have a node, of %d", placed, w.Nodes())
	}
	w.AdvanceTo(29 * time.Second)
	if placed, _, _ := count(w); placed != 2 {
		t.Errorf("%d have a node before one has come", placed)
	}
	w.AdvanceTo(30 * time.Second)
	if placed, _, _ := count(w); placed != 5 || w.Nodes() != 3 {
		t.Errorf("%d have a node, of %d", placed, w.Nodes())
	}
	w.AdvanceTo(36 * time.Second)
	if _, _, ready := count(w); ready != 5 {
		t.Errorf("%d are ready", ready)
	}
	w.Scale(2)
	w.AdvanceTo(2 * time.Minute)
	if w.Nodes() != 1 {
		t.Errorf("%d nodes are left", w.Nodes())
	}
	c.Replicas = 3
	if _, err := New(c); err == nil {
		t.Error("three pods on a node for two")
	}
}

// TestSeconds: every second is reported, once, however time is cut up.
func TestSeconds(t *testing.T) {
	w := newWorldOf(t, config(10))
	calls := 0
	w.OnSecond(func() {
		calls++
		if w.Now() != time.Duration(calls)*time.Second {
			t.Errorf("second %d at %v", calls, w.Now())
		}
	})
	for w.Now() < 10*time.Second {
		w.AdvanceTo(w.Now() + 333*time.Millisecond)
	}
	if calls != 10 {
		t.Errorf("%d seconds of ten", calls)
	}
	if got := w.Stats().OfferedTotal; math.Abs(got-10*w.Now().Seconds()) > 1e-6 {
		t.Errorf("%v requests in %v", got, w.Now())
	}
}

func TestConfigErrors(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"no load":        func(c *Config) { c.Load = nil },
		"a bad profile":  func(c *Config) { c.Profile.Noise = 2 },
		"negative start": func(c *Config) { c.StartAfter = -1 },
		"negative count": func(c *Config) { c.Replicas = -1 },
	} {
		c := config(1)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
