package podusage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestBudgetTooShort: as long as the budget reaches each node before its samples are too old, they are used; beyond
// that they never are, rather than now and then.
func TestBudgetTooShort(t *testing.T) {
	for name, tt := range map[string]struct {
		perSecond float64
		want      error
	}{"each 15 s": {2, nil}, "each 30 s": {1, errTooOld}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var nodes []string
				var pods []*corev1.Pod
				for i := range 30 {
					node, web := fmt.Sprint("node-", i), fmt.Sprint("web-", i)
					w.node(node, 100, web)
					nodes, pods = append(nodes, node), append(pods, pod(web, node))
				}
				s := w.start(func(c *Config) { c.Rounds.MaxPerSecond = tt.perSecond })
				w.want(nodes...)
				pass(2 * time.Minute)
				var v View
				for range 120 {
					pass(time.Second)
					if err := s.look(time.Now(), observe.PodsOf(pods), &v); !errors.Is(err, tt.want) {
						t.Fatalf("got %v, want %v", err, tt.want)
					}
					if tt.want != nil {
						continue
					}
					for i := range pods {
						if sample := v.Sample(i, cpuOfPod, arithmetic.Saturate); sample.Milli != 200 {
							t.Fatalf("%+v, want 200m", sample)
						}
					}
				}
			})
		})
	}
}

// TestBackAfterSilence: the samples of a node after a long silence are a new beginning. A pod of it never counts as
// missing.
func TestBackAfterSilence(t *testing.T) {
	for _, silence := range []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute} {
		t.Run(silence.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.node("a", 100, "web-0")
				s := w.start()
				w.want("a")
				pass(30 * time.Second)
				w.set(func() { w.broken["a"] = errors.New("connection refused") })
				pass(silence)
				w.set(func() { clear(w.broken) })
				var v View
				isBack := false
				for range 400 {
					pass(100 * time.Millisecond)
					err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-0", "a")}), &v)
					if err == nil && !v.Sample(0, cpuOfPod, arithmetic.Saturate).Present {
						t.Fatal("nothing is known of the pod, and nothing is wrong")
					}
					isBack = err == nil
				}
				if !isBack {
					t.Error("40 s later it is not back")
				}
			})
		})
	}
}

// TestParserPanic: a response that the parser panics over is a failure of its node alone.
func TestParserPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		s := w.start()
		w.want("a", "b")
		pass(20 * time.Second)
		w.set(func() { w.broken["b"] = errMad })
		pass(10 * time.Second)
		var v View
		if err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-0", "a")}), &v); err != nil {
			t.Errorf("the other node: %v", err)
		}
		if err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-1", "b")}), &v); err == nil ||
			!strings.Contains(err.Error(), "node b") {
			t.Errorf("the mad one: %v", err)
		}
		w.set(func() { clear(w.broken) })
		pass(40 * time.Second)
		if err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-1", "b")}), &v); err != nil {
			t.Errorf("healed: %v", err)
		}
	})
}

// TestRefused: a pod with impossible values in a kubelet's response is reported as such, and has no usage.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0", "web-1")
		s := w.start()
		w.want("a")
		pass(40 * time.Second)
		w.set(func() { w.kubelets["a"].Pods[1].Containers[1].MemoryBytes = -5 })
		pass(2 * time.Second)
		var v View
		pods := observe.PodsOf([]*corev1.Pod{pod("web-0", "a"), pod("web-1", "a")})
		if err := s.look(time.Now(), pods, &v); err != nil {
			t.Fatal(err)
		}
		if sound, lying := len(v.Containers(0)), len(v.Containers(1)); sound != 2 || lying != 0 {
			t.Errorf("%d containers of the sound pod are known, %d of the other", sound, lying)
		}
		if refused := v.Refused(); len(refused) != 1 || refused[0].Name != "proxy" ||
			refused[0].Refused != rate.RefusedMemory {
			t.Errorf("refused: %+v", refused)
		}
		w.set(func() { w.kubelets["a"].Pods[1].Containers[1].MemoryBytes = 1 << 20 })
		pass(2 * time.Second)
		if err := s.look(time.Now(), pods, &v); err != nil || len(v.Refused()) != 0 || len(v.Containers(1)) != 2 {
			t.Errorf("healed: %v, refused %+v", err, v.Refused())
		}
	})
}
