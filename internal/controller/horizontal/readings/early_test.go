package readings_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// surge multiplies the load of a target with a pod on each node by ninety right after a scrape, and returns the time
// until the count is raised.
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

// TestEarlyScrapeDecidesEarlier: the node of a pod with a suspicious first sample is scraped again at once, and the
// second sample raises the count. Without that the average raises it a round later.
func TestEarlyScrapeDecidesEarlier(t *testing.T) {
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

// TestEarlyScrapesKeepTheBudget: if every node is suspicious at once, scrapes stay within the budget, no node is left
// out, and the count is raised.
func TestEarlyScrapesKeepTheBudget(t *testing.T) {
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
			// The budget may have one more from before.
			if last := i + perSecond + 1; last < len(all) && all[last].Sub(all[i]) < time.Second {
				t.Fatalf("more than %d scrapes within %s", perSecond, all[last].Sub(all[i]))
			}
		}
		if took > 5*time.Second {
			t.Errorf("raised after %s", took)
		}
	})
}
