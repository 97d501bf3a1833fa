package updater

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("web%02d", i)
	}
	return all
}

// Twenty workloads have two pods each: ten pods are evicted within a window, and the others get their turn in the next
// pass.
func TestEvictionsOfTheClusterAreBounded(t *testing.T) {
	for want, set := range map[int]divergence.Set{10: allAtOnce, 40: allAtOnce &^ divergence.ClusterBudget} {
		r := newRig(t, func(c *Config) {
			c.Defaults.Divergences, c.MaxEvictionPercent, c.MaxEvictionWindow = set, 10, time.Hour
		}, names(20)...)
		r.passOnce()
		if len(r.evicted) != want {
			t.Fatalf("%s: %d evicted", set, len(r.evicted))
		}
		if set != allAtOnce {
			continue
		}
		if r.passes.stoppedAt == "" {
			t.Error("the next pass begins with the same workloads")
		}
		r.passes.actor.budget.left = disruption.ClusterBudget{Percent: 10, Window: time.Hour}
		if r.passOnce(); len(r.evicted) != 20 {
			t.Errorf("%d evicted a window later", len(r.evicted))
		}
		// An action that was not done does not count.
		r.passes.actor.budget.left = disruption.ClusterBudget{Percent: 10, Window: time.Hour}
		r.refuse = func(string) error { return fmt.Errorf("not now") }
		r.passOnce()
		r.refuse = nil
		if r.passOnce(); len(r.evicted) != 30 {
			t.Errorf("%d evicted after refusals", len(r.evicted))
		}
	}
}

func TestNoEvictionWhileMostNodesAreDown(t *testing.T) {
	for down, want := range map[int]int{1: 2, 2: 0} {
		r := newRig(t, nil, "web")
		for i := range 3 {
			status := corev1.ConditionTrue
			if i < down {
				status = corev1.ConditionUnknown
			}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			if err := r.cfg.Informers.Core().V1().Nodes().Informer().GetStore().Add(node); err != nil {
				t.Fatal(err)
			}
		}
		if r.passOnce(); len(r.evicted) != want {
			t.Errorf("%d of 3 nodes are down: %d evicted, want %d", down, len(r.evicted), want)
		}
	}
}

// Three workloads whose replacements came up unchanged stop the others, too. After their pauses one pod is evicted as a
// test.
func TestWorkloadsThatFailAlikeStopTheCluster(t *testing.T) {
	shop, two := names(5), append([]string{"bank00"}, names(4)...)
	for why, c := range map[string]struct {
		workloads []string
		failed    int
		ago       time.Duration
		want      int
	}{
		"two fail, three others go on":                  {two, 2, 0, 3},
		"three of one namespace fail, two others go on": {shop, 3, 0, 2},
		"three of two namespaces fail, nothing goes on": {two, 3, 0, 0},
		"half an hour later one that has not is tried":  {two, 3, 30 * time.Minute, 1},
		"where all have failed, one of them is tried":   {two, 5, 30 * time.Minute, 1},
	} {
		r := newRig(t, func(cfg *Config) { cfg.Defaults.Divergences = divergence.Default }, c.workloads...)
		at := time.Now().Add(-c.ago)
		for _, name := range c.workloads[:c.failed] {
			state := update.State{Version: update.StateVersion}.Clone()
			state.Circuit.NotAdmitted = disruption.NotAdmitted{Count: 1, Created: at, At: at, Until: at.Add(30 * time.Minute)}
			r.passes.decider.states.states[types.UID("vpa-"+name)] = state
		}
		r.passOnce()
		if len(r.evicted) != c.want {
			t.Errorf("%s: evicted %v", why, r.evicted)
		}
		for _, pod := range r.evicted {
			if c.failed < len(c.workloads) && slices.Contains(c.workloads[:c.failed], strings.TrimSuffix(pod, "-1-a")) {
				t.Errorf("%s: evicted %s, of a workload that has failed", why, pod)
			}
		}
	}
}
