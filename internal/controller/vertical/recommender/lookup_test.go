package recommender

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

func asUpstream(cfg *Config) { cfg.Policy.Usage.Divergences = divergence.None }

// While the target is missing, the samples of its pods are used, with and without divergences: it may return.
func TestSamplesGoOnWithoutATarget(t *testing.T) {
	for why, change := range map[string]func(*Config){"Plimsoll": func(*Config) {}, "as upstream": asUpstream} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.deployment("web", 1)
				w.autoscaler("web")
				w.start(change)
				w.pass(time.Hour)
				w.do(func() { delete(w.targets, "web") })
				w.pass(30 * time.Minute)
				if w.condition("web", "ConfigUnsupported") == nil {
					t.Error("no condition reports that the target is gone")
				}
				w.do(func() { w.targets["web"] = nil })
				w.pass(5 * time.Minute)
				w.stop()
				if got := w.checkpoints["web-app"].Status.TotalSamplesCount; got < 90 || got > 97 {
					t.Errorf("%d samples of 95 minutes", got)
				}
			})
		})
	}
}

// Upstream has no containers while it cannot look the target up, and writes no checkpoints for them. It deletes only
// those of objects that are gone.
func TestNoCheckpointsWithoutATargetAsUpstream(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		w.start(asUpstream)
		w.pass(time.Hour)
		w.do(func() { w.targets["web"] = fmt.Errorf("timeout: %w", ownership.ErrUnknown) })
		w.pass(2 * time.Minute)
		before := w.saves["web-app"]
		if before == 0 {
			t.Fatal("no checkpoint was written within an hour")
		}
		w.pass(10 * 24 * time.Hour)
		if got := w.saves["web-app"]; got != before {
			t.Errorf("it was written %d times while the target could not be looked up", got-before)
		}
		w.stop()
		if got := w.saves["web-app"]; got != before {
			t.Error("it was written at the end")
		}
		if w.checkpoints["web-app"] == nil {
			t.Error("it was deleted")
		}
	})
}

// Upstream counts the containers of pods that have ended, and recommends the floor for them.
func TestPodsThatHaveEnded(t *testing.T) {
	for why, c := range map[string]struct {
		change func(*Config)
		want   int64
	}{"Plimsoll": {func(*Config) {}, 0}, "as upstream": {asUpstream, 25}} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.deployment("nightly", 0)
				w.do(func() { w.milli["nightly"] = 0 })
				pod := w.pod("nightly", "nightly-1", corev1.PodStatus{}).DeepCopy()
				pod.Status.Phase = corev1.PodSucceeded
				w.pods.Modify(pod)
				w.autoscaler("nightly")
				w.start(c.change)
				w.pass(3 * time.Minute)
				if cpu, _ := w.target("nightly"); cpu != c.want {
					t.Errorf("%dm of CPU, want %dm", cpu, c.want)
				}
			})
		})
	}
}

// Running pods without metrics are reported once, until the first sample. A workload without pods, and a pod that has
// just started, are fine.
func TestMissingMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.deployment("empty", 0)
		w.do(func() { w.milli["web"] = 0 })
		w.autoscaler("web")
		w.autoscaler("empty")
		w.start()
		w.pass(2 * time.Minute)
		if c := w.condition("web", status.MetricsMissing.String()); c != nil {
			t.Errorf("said too soon: %v", c)
		}
		w.pass(time.Hour)
		if c := w.condition("web", status.MetricsMissing.String()); c == nil ||
			w.warnings("web", status.MetricsMissing.String()) != 1 {
			t.Errorf("the condition is %v, the events are %v", c, w.told)
		}
		if c := w.condition("empty", status.MetricsMissing.String()); c != nil {
			t.Errorf("without pods: %v", c)
		}
		w.do(func() { w.milli["web"] = 100 })
		w.pass(2 * time.Minute)
		if c := w.condition("web", status.MetricsMissing.String()); c != nil {
			t.Errorf("it stays: %v", c)
		}
	})
}

// Implausible samples are reported once and change nothing, although others of the same minute are plausible: an
// average would hide them.
func TestImplausibleSamples(t *testing.T) {
	for why, bad := range map[string][2]int64{
		"memory": {100, 2 << 50}, "negative memory": {100, -5}, "cpu": {5e9, 500 << 20}, "negative cpu": {-5, 500 << 20},
	} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.deployment("web", 1)
				w.deployment("sound", 1)
				w.autoscaler("web")
				w.autoscaler("sound")
				w.start()
				w.pass(time.Hour)
				cpu, memory := w.target("web")
				if w.condition("web", recommend.ImplausibleSamples) != nil || cpu == 0 {
					t.Fatalf("before: %v, %dm", w.status("web").Conditions, cpu)
				}
				w.do(func() { w.milli["web"], w.bytes["web"] = bad[0], bad[1] })
				w.pass(30 * time.Second) // one sample of two in a minute
				w.do(func() { w.milli["web"], w.bytes["web"] = 100, 500<<20 })
				w.pass(10 * time.Minute)
				if c := w.condition("web", recommend.ImplausibleSamples); c == nil ||
					w.warnings("web", recommend.ImplausibleSamples) != 1 {
					t.Errorf("the condition is %v, the events are %v", c, w.told)
				}
				if nextCPU, nextMemory := w.target("web"); nextCPU != cpu || nextMemory != memory {
					t.Errorf("%dm and %d bytes became %dm and %d bytes", cpu, memory, nextCPU, nextMemory)
				}
				if c := w.condition("sound", recommend.ImplausibleSamples); c != nil {
					t.Errorf("of another workload: %v", c)
				}
				w.pass(time.Hour)
				if c := w.condition("web", recommend.ImplausibleSamples); c != nil {
					t.Errorf("it stays: %v", c)
				}
			})
		})
	}
}
