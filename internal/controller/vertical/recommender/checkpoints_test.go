package recommender

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// A container that is killed before that has no history.
func TestFirstCheckpointIsWrittenAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		for i := range 20 {
			name := fmt.Sprintf("web%d", i)
			w.deployment(name, 1)
			w.autoscaler(name)
		}
		w.pass(2 * time.Minute) // the first sample takes at most one minute, the next pass another one
		for i := range 20 {
			if name := fmt.Sprintf("web%d-app", i); w.saves[name] == 0 {
				t.Errorf("%s was not written within two minutes", name)
			}
		}
	})
}

// The target is gone for good, such as a Deployment that was replaced by a Rollout with the same labels, and pods are
// still created and deleted.
func TestPodsThatAreGoneAreForgottenWithoutTarget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.deployment("web", 1)
		w.autoscaler("web")
		r := w.start()
		w.pass(5 * time.Minute)
		w.do(func() { w.targets["web"] = ownership.ErrNotFound })
		for i := range 20 {
			name := fmt.Sprintf("web-x%d", i)
			pod := w.pod("web", name, corev1.PodStatus{})
			w.pass(time.Minute)
			w.do(func() { delete(w.running, name) })
			w.pods.Delete(pod)
		}
		w.pass(2 * time.Minute)
		for name := range r.passes.tracks.byName {
			if n := r.passes.sampler.Sampled(name); n != 1 {
				t.Errorf("%s: of the one pod that is left %d summaries are kept", name, n)
			}
		}
	})
}

// Two pairs of object and container that upstream writes to one checkpoint both survive a restart. A checkpoint under
// the old name is read.
func TestCheckpointsOfOneName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for name, container := range map[string]string{"web": "api-server", "web-api": "server"} {
			w.do(func() { w.targets[name], w.milli[name], w.bytes[name] = nil, 100*int64(len(name)), 500<<20 })
			w.podOf(name, name+"-0", container)
			w.autoscaler(name)
		}
		w.start()
		w.pass(time.Hour)
		w.stop()
		if len(w.checkpoints) != 2 {
			t.Errorf("there are %d checkpoints, want 2", len(w.checkpoints))
		}
		for name, c := range w.checkpoints {
			if wants := c.Spec.VPAObjectName == "web"; (name == "web-api-server") != wants {
				t.Errorf("the checkpoint of %s is called %s", c.Spec.VPAObjectName, name)
			}
		}
		r := w.start()
		w.pass(time.Minute)
		for name, track := range r.passes.tracks.byName {
			if n := track.state.Containers[0].Usage.Newest(); len(track.state.Containers) != 1 || n.IsZero() {
				t.Errorf("%s: %d containers", name, len(track.state.Containers))
			}
			if c := w.condition(name.Name, "DamagedCheckpoint"); c != nil {
				t.Errorf("%s: %v", name, c)
			}
		}
	})
}
