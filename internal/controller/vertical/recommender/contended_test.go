package recommender

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/contention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// TestContentionIsReported: the status reports a throttled container, without flapping, and throttling counts as demand
// only if that is switched on.
func TestContentionIsReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		throttled, isRead := 0.5, true
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start(func(cfg *Config) {
			cfg.Policy.CountContention = true
			cfg.Contention = func(context.Context) (contention.Seen, error) {
				mu.Lock()
				defer mu.Unlock()
				if !isRead {
					return nil, errors.New("no node answers")
				}
				seen := contention.Seen{}
				w.do(func() {
					for name, pod := range w.running {
						look := contention.Look{Shares: map[contention.Key]contention.Shares{}, IsWhole: true}
						if throttled > 0 {
							key := contention.Key{Namespace: pod.Namespace, Pod: name, Container: "app"}
							look.Shares[key] = contention.Shares{Throttled: throttled, HasThrottled: true}
						}
						seen[pod.Spec.NodeName] = look
					}
				})
				return seen, errors.New("one node does not answer")
			}
		})
		w.pass(5 * time.Minute)
		c := w.condition("web", status.CPUContended.String())
		if c == nil || c.Status != "True" ||
			!strings.Contains(c.Message, "container app wants more CPU than it gets: its limit stops it") {
			t.Fatalf("the condition is %+v", c)
		}
		since := c.LastTransitionTime
		// 100m of use, raised by half for the throttling, and the margin.
		cpu, _ := w.target("web")
		isNear(t, "CPU", cpu, 172)
		set := func(share float64) { mu.Lock(); throttled = share; mu.Unlock() }
		set(0.15)
		w.pass(5 * time.Minute)
		if c := w.condition("web", status.CPUContended.String()); c == nil || c.LastTransitionTime != since {
			t.Errorf("a little less, and the condition is %+v", c)
		}
		mu.Lock()
		isRead = false
		mu.Unlock()
		w.pass(5 * time.Minute)
		if c := w.condition("web", status.CPUContended.String()); c == nil || c.LastTransitionTime != since {
			t.Errorf("while no node is read, nothing is known, and the condition is %+v", c)
		}
		mu.Lock()
		isRead = true
		mu.Unlock()
		set(0) // without a limit there are no periods
		w.pass(5 * time.Minute)
		if c := w.condition("web", status.CPUContended.String()); c != nil {
			t.Errorf("when it is over the condition is still there: %+v", c)
		}
		if n := strings.Count(strings.Join(w.logs, "\n"), "unavailable on some nodes"); n != 1 {
			t.Errorf("a node that does not answer is told %d times, want once", n)
		}
	})
}
