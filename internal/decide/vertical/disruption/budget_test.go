package disruption

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

func pods(ready, pending int) []vertical.Pod {
	var all []vertical.Pod
	for i := range ready + pending {
		all = append(all, vertical.Pod{UID: fmt.Sprint(i), Creator: "ReplicaSet/a",
			Node: "node", Ready: i < ready, Pending: i >= ready})
	}
	return all
}

func workload(configured int) *Workload {
	r := Replicas{Configured: configured}
	return &Workload{Creators: map[string]Replicas{"ReplicaSet/a": r}, Target: r}
}

// evictAll evicts one pod after the other and counts the permitted evictions.
func evictAll(p *Policy, w *Workload, all []vertical.Pod) (evicted int) {
	b := NewBudget(time.Time{}, p, w, all, nil)
	for i := range all {
		if b.EvictionBlockedBy(i) == reason.None {
			b.RecordEviction(i)
			evicted++
		}
	}
	return evicted
}

func TestHowManyMayGo(t *testing.T) {
	for why, c := range map[string]struct {
		policy     Policy
		configured int
		ready      int
		pending    int
		want       int
	}{
		"the guide: 9 of 10 run, a fifth may be away":    {Policy{Tolerance: 0.2}, 10, 9, 0, 1},
		"all of 10 run, a fifth may be away":             {Policy{Tolerance: 0.2}, 10, 10, 0, 2},
		"a pending one is no loss":                       {Policy{Tolerance: 0.2}, 10, 9, 1, 2},
		"half of 5, cut to 2":                            {Policy{Tolerance: 0.5}, 5, 5, 0, 2},
		"a tolerance below a pod: one, if all are there": {Policy{Tolerance: 0.1}, 5, 5, 0, 1},
		"a tolerance below a pod, and one is away":       {Policy{Tolerance: 0.1}, 5, 4, 0, 0},
		"one more than wanted":                           {Policy{Tolerance: 0}, 5, 6, 0, 1},
		"too few":                                        {Policy{MinReplicas: 3, Tolerance: 1}, 2, 2, 0, 0},
		"as few as may be":                               {Policy{MinReplicas: 2, Tolerance: 1}, 2, 2, 0, 2},
		"too few to evict, but not to resize": {Policy{MinReplicas: 3, Tolerance: 1, SkipInPlace: true}, 2, 2, 0,
			0},
		"a kind without a count loses all, as upstream": {Policy{}, 0, 3, 0, 3},
		"a kind without a count, with workload-budget": {Policy{Tolerance: 0.5, Divergences: divergence.WorkloadBudget},
			0, 4, 0, 2},
	} {
		if got := evictAll(&c.policy, workload(c.configured), pods(c.ready, c.pending)); got != c.want {
			t.Errorf("%s: %d go, want %d", why, got, c.want)
		}
	}
}

// With workload-budget and pods of any number of creators, at least as many stay ready as the tolerance requires,
// except for the one that may always be evicted if all are ready.
func TestEnoughStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		configured := rapid.IntRange(1, 12).Draw(t, "configured")
		p := Policy{Tolerance: rapid.Float64Range(0, 1).Draw(t, "tolerance"), Divergences: divergence.WorkloadBudget}
		all := pods(rapid.IntRange(0, 12).Draw(t, "ready"), rapid.IntRange(0, 3).Draw(t, "pending"))
		ready := 0
		for i := range all {
			all[i].Creator = rapid.SampledFrom([]string{"ReplicaSet/a", "ReplicaSet/b"}).Draw(t, "by")
			if all[i].Ready {
				ready++
			}
		}
		b := NewBudget(time.Time{}, &p, workload(configured), all, nil)
		stay := ready
		for i := range all {
			if b.EvictionBlockedBy(i) == reason.None {
				b.RecordEviction(i)
				if all[i].Ready {
					stay--
				}
			}
		}
		tolerated := int(float64(configured) * p.Tolerance)
		if least := configured - tolerated; stay < min(ready, least) &&
			!(tolerated == 0 && ready == configured && stay == ready-1) {
			t.Errorf("%d of %d stay ready, at least %d must", stay, ready, least)
		}
	})
}

// A resize uses the same budget as an eviction.
func TestResizesCount(t *testing.T) {
	p := Policy{Tolerance: 0.25}
	all := pods(4, 0)
	b := NewBudget(time.Time{}, &p, workload(4), all, nil)
	if why := b.DisruptionBlockedBy(0); why != reason.None {
		t.Fatal(why)
	}
	b.RecordResize(0)
	if why := b.EvictionBlockedBy(1); why != reason.DisruptionBudget {
		t.Errorf("a second one: %s", why)
	}
}

func TestUnknownReplicas(t *testing.T) {
	w := &Workload{Creators: map[string]Replicas{"ReplicaSet/a": {Unknown: true}}, Target: Replicas{Unknown: true}}
	b := NewBudget(time.Time{}, &Policy{}, w, pods(2, 0), nil)
	if why := b.EvictionBlockedBy(0); why != reason.UnknownReplicas {
		t.Errorf("%q", why)
	}
}

func TestCircuit(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	fresh := vertical.Pod{UID: "new", Name: "new", Created: now, Pending: true}
	old := vertical.Pod{UID: "old", Name: "old", Created: at(-60), Node: "node", Ready: true}
	var c Circuit
	if watch(&c, at(10), []vertical.Pod{fresh, old}); c.Open() {
		t.Fatal("a pod that was not changed opens it")
	}
	c.RecordEviction(now, []vertical.Pod{old}, nil)
	if watch(&c, at(5), []vertical.Pod{fresh, old}); c.Open() {
		t.Error("a new pod has not had its time yet")
	}
	if troubled := watch(&c, at(6), []vertical.Pod{fresh, old}); !c.Open() || !troubled["new"] || troubled["old"] {
		t.Errorf("open %t for %v", c.Open(), troubled)
	}
	fresh.Pending, fresh.Node, fresh.Ready = false, "node", true
	if watch(&c, at(7), []vertical.Pod{fresh, old}); c.Open() {
		t.Error("all run, and it is open")
	}
	crash := vertical.PodContainer{Waiting: true, Crashed: vertical.Termination{Failed: true, Finished: at(8)}}
	fresh.Containers = []vertical.PodContainer{crash}
	if watch(&c, at(9), []vertical.Pod{fresh, old}); !c.Open() {
		t.Error("a new pod crashes again and again")
	}
	old.Containers = []vertical.PodContainer{crash}
	if troubled := watch(&c, at(9), []vertical.Pod{old}); c.Open() {
		t.Errorf("an old pod's crashes are not ours: %v", troubled)
	}
	c.RecordResize(at(8), &old)
	if watch(&c, at(9), []vertical.Pod{old}); !c.Open() {
		t.Error("a resized pod crashes")
	}
	old.Containers[0].Crashed.Finished = at(7)
	if watch(&c, at(9), []vertical.Pod{old}); c.Open() {
		t.Error("it crashed before it was resized")
	}
	if watch(&c, at(9), nil); len(c.Resized) != 0 {
		t.Errorf("pods that are gone are remembered: %v", c.Resized)
	}
}

// watch observes pods of a workload without a replica count, which all have their recommendation.
func watch(c *Circuit, now time.Time, pods []vertical.Pod) map[string]bool {
	return c.Observe(now, pods, &Workload{Target: Replicas{Unknown: true}},
		func(*vertical.Pod) bool { return false }).Troubled
}
