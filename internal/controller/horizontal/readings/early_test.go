package readings_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// surge lets the load of a target with a pod for each node given become ninety times as much
// right after a scrape, and returns how long it takes until the count is raised.
func (w *world) surge(t *testing.T, k *horizontaltest.Kubelets, nodes []string) time.Duration {
	t.Helper()
	replicas := int32(len(nodes))
	hpa := w.Web("web", replicas)
	hpa.Spec.MaxReplicas = 4 * replicas
	w.Onto("web", len(nodes), nodes...)
	w.AddHPA(hpa)
	k.Milli = 10
	w.Start(k.Direct)
	w.Pass(40 * time.Second)
	w.Set(func() { clear(k.Asked) })
	for asked := 0; asked == 0; w.Set(func() { asked = len(k.Asked[nodes[0]]) }) {
		w.Pass(time.Millisecond)
	}
	began := time.Now()
	w.Set(func() {
		clear(k.Asked)
		k.Milli = 900
	})
	for w.Replicas("web") == replicas {
		if w.Pass(time.Millisecond); time.Since(began) > time.Minute {
			t.Fatal("the count is never raised")
		}
	}
	return time.Since(began)
}

// TestEarlyLookDecidesEarlier: the node of a pod with a suspicious first sample is
// scraped again at once, and the surge decided on the second sample. Without that the
// average is the first to see it, a round later.
func TestEarlyLookDecidesEarlier(t *testing.T) {
	took := map[bool]time.Duration{}
	for _, isPatient := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			k := w.Kubelets("a")
			k.IsPatient = isPatient
			took[isPatient] = w.surge(t, k, []string{"a", "a", "a"})
			if first := len(k.Asked["a"]); isPatient && first > 2 {
				t.Errorf("scraped %d times", first)
			}
		})
	}
	if took[false] > 1300*time.Millisecond || took[true]-took[false] < 600*time.Millisecond {
		t.Errorf("raised after %s with an early look and after %s without", took[false], took[true])
	}
}

// TestEarlyLooksKeepTheBudget: when every node is suspicious at once, no more of them
// are scraped than the budget has, none is left out, and the count is raised.
func TestEarlyLooksKeepTheBudget(t *testing.T) {
	const perSecond = 10
	inWorld(t, func(t *testing.T, w *world) {
		var nodes []string
		for i := range 15 {
			nodes = append(nodes, fmt.Sprint("node-", i))
		}
		k := w.Kubelets(nodes...)
		k.Rounds.MaxPerSecond = perSecond
		took := w.surge(t, k, nodes)
		w.Pass(20 * time.Second)
		var all []time.Time
		for _, node := range nodes {
			asked := k.Asked[node]
			all = append(all, asked...)
			for i := range asked[1:] {
				if gap := asked[i+1].Sub(asked[i]); gap > 6*time.Second {
					t.Errorf("%s is left alone for %s", node, gap)
				}
			}
		}
		slices.SortFunc(all, time.Time.Compare)
		for i := range all {
			// One more may have been saved up.
			if last := i + perSecond + 1; last < len(all) && all[last].Sub(all[i]) < time.Second {
				t.Fatalf("more than %d scrapes within %s", perSecond, all[last].Sub(all[i]))
			}
		}
		if took > 5*time.Second {
			t.Errorf("raised after %s", took)
		}
	})
}
