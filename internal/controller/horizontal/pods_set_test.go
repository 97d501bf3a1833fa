package horizontal

import (
	"maps"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// recorded notes how many pods were set of each object.
type recorded struct {
	readings.Direct
	w    *world
	pods map[observe.Key]int
}

// Set implements readings.Direct.
func (r *recorded) Set(key observe.Key, pods []*observe.Pod) {
	r.w.set(func() {
		if r.pods[key] = len(pods); len(pods) == 0 {
			delete(r.pods, key)
		}
	})
	r.Direct.Set(key, pods)
}

// TestPodsAreSet: the pods of an HPA are scraped while its decisions need their samples, and no longer: not when its
// target is scaled to zero, when it has no resource metric any more, or when it is gone.
func TestPodsAreSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		for _, name := range []string{"web", "other", "gone", "zero"} {
			hpa := w.web(name, 2)
			w.onto(name, 2, "a")
			w.addHPA(hpa)
		}
		r := &recorded{w: w, pods: map[observe.Key]int{}}
		w.start(func(c *Config) {
			k.direct(c)
			r.Direct, c.Direct = c.Direct, r
		})
		want := func(why string, names ...string) {
			t.Helper()
			all := map[observe.Key]int{}
			for _, name := range names {
				all[observe.HPA("shop", name)] = 2
			}
			if !maps.Equal(r.pods, all) {
				t.Errorf("%s: %v", why, r.pods)
			}
		}
		w.pass(10 * time.Second)
		want("all are decided on samples", "web", "other", "gone", "zero")
		w.edit("other", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { externally(hpa) })
		w.setReplicas("zero", 0)
		w.deleteHPA("gone")
		w.pass(2 * time.Minute)
		want("one has another metric, one is gone, and one is scaled to zero", "web")
	})
}
