package disruption

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// No window has more evictions than the percentage permits, with requests at any times.
func TestClusterBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := ClusterBudget{Percent: float64(rapid.IntRange(1, 50).Draw(t, "percent")), Window: 10 * time.Minute}
		pods := rapid.IntRange(0, 1000).Draw(t, "pods")
		most := max(minEvictions, pods*int(b.Percent)/100)
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		var taken []time.Time
		for range 300 {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			if b.Take(now, pods) {
				taken = append(taken, now)
			}
			within := 0
			for _, at := range taken {
				if now.Sub(at) < b.Window {
					within++
				}
			}
			if within > most {
				t.Fatalf("%d within a window, at most %d", within, most)
			}
		}
		if len(taken) < most && len(taken) < 300 {
			t.Fatalf("only %d of %d", len(taken), most)
		}
	})
}

// The evictions of the last process count; changes that were not made do not.
func TestClusterBudgetAfterARestart(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	b := ClusterBudget{Percent: 10, Window: 10 * time.Minute}
	var created []time.Time
	for i := range 20 {
		created = append(created, now.Add(-time.Duration(i)*time.Minute-time.Second))
	}
	b.Resume(now, created)
	if b.Take(now, 100) {
		t.Error("ten of a hundred were evicted, and one more is")
	}
	b.Refund()
	if !b.Take(now, 100) || b.Take(now, 100) {
		t.Error("a refunded eviction counts, or another one does not")
	}
	if !b.Take(now.Add(10*time.Minute), 100) {
		t.Error("a window later nothing may be evicted")
	}
	none := ClusterBudget{}
	for range 1000 {
		if !none.Take(now, 1) {
			t.Fatal("without a bound")
		}
	}
}

// Several workloads that fail in the same way stop the whole cluster until one replacement is as expected.
func TestOverview(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	failing := func(n int) (all []Circuit) {
		for range n {
			all = append(all, Circuit{NotAdmitted: NotAdmitted{Count: 1, Created: now, At: now, Until: now.Add(firstPause)}})
		}
		return all
	}
	refused := failing(3)
	refused[1].NotAdmitted.Refused = true
	for why, c := range map[string]struct {
		circuits    []Circuit
		inOne       bool
		at          time.Time
		open, tries bool
	}{
		"two":                    {failing(2), false, now, false, false},
		"three":                  {failing(3), false, now, true, false},
		"three of one namespace": {failing(3), true, now, false, false},
		"three, after a pause":   {failing(3), false, now.Add(firstPause), true, true},
		"and one that came up before": {append(failing(3), Circuit{ConfirmedAt: now.Add(-time.Minute)}), false, now, true,
			false},
		"and one that came up since": {append(failing(3), Circuit{ConfirmedAt: now.Add(time.Minute)}), false, now, false,
			true},
		"one that the API server would refuse": {refused, false, now, false, false},
		"none":                                 {nil, false, now, false, true},
	} {
		var o ClusterCircuit
		for i := range c.circuits {
			namespace := "shop"
			if i == 0 && !c.inOne {
				namespace = "bank"
			}
			o.Add(namespace, &c.circuits[i])
		}
		if open, tries := o.Open(c.at); open != c.open || open && tries != c.tries {
			t.Errorf("%s: open %t, tries %t", why, open, tries)
		}
	}
}

// If admission leaves a pod unchanged because the API server would refuse it otherwise, admission works: the workload
// waits, the cluster does not. This also holds after a restart.
func TestRefusedReplacement(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, isRefused := range []bool{false, true} {
		pods := []vertical.Pod{{UID: "a", Created: now.Add(-time.Hour), Ready: true}}
		var c Circuit
		c.RecordEviction(now, pods, nil)
		pods[0] = vertical.Pod{UID: "b", Created: now.Add(time.Minute), Ready: true, Refused: isRefused}
		found := c.Observe(now.Add(2*time.Minute), pods, &Workload{}, func(*vertical.Pod) bool { return true })
		if found.Open != reason.NotAdmitted || c.NotAdmitted.Refused != isRefused {
			t.Errorf("refused %t: %s, %+v", isRefused, found.Open, c.NotAdmitted)
		}
		if after := Resume(now, pods, Past{NotAdmitted: true}); after.NotAdmitted.Refused != isRefused {
			t.Errorf("refused %t: after a restart %+v", isRefused, after.NotAdmitted)
		}
	}
}
