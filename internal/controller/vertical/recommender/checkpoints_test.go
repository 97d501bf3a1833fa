package recommender

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

// Whatever is killed before has learnt nothing.
func TestFirstCheckpointIsWrittenAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		for i := range 20 {
			name := fmt.Sprintf("web%d", i)
			w.deployment(name, 1)
			w.autoscaler(name)
		}
		w.pass(2 * time.Minute) // the first sample is within one, the pass after it within another
		for i := range 20 {
			if name := fmt.Sprintf("web%d-app", i); w.saves[name] == 0 {
				t.Errorf("%s was not written within two minutes", name)
			}
		}
		w.pass(5 * time.Minute)
		again := 0
		for i := range 20 {
			again += w.saves[fmt.Sprintf("web%d-app", i)] - 1
		}
		if again == 0 || again > 15 {
			t.Errorf("%d of 20 were written again within five minutes, want a third of them: each has its own time", again)
		}
	})
}

// The target is gone for good, as a Deployment that has become a Rollout with the same
// labels, and its pods come and go.
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
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, track := range r.tracks {
			if n := len(track.summaries); n != 1 {
				t.Errorf("%s: of the one pod that is left %d summaries are kept", name, n)
			}
		}
	})
}
