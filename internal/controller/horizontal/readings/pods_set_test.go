package readings_test

import (
	"maps"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// recorded records the number of pods in the last Set of each object.
type recorded struct {
	readings.Direct
	w    *world
	pods map[observe.Key]int
}

// Set implements readings.Direct.
func (r *recorded) Set(key observe.Key, pods []*observe.Pod) {
	r.w.Set(func() {
		if r.pods[key] = len(pods); len(pods) == 0 {
			delete(r.pods, key)
		}
	})
	r.Direct.Set(key, pods)
}

// TestPodsAreSet: the pods of an HPA are scraped only while its decisions need their samples: not when its target is
// scaled to zero, when it has no resource metric any more, or when it is gone.
func TestPodsAreSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		for _, name := range []string{"web", "other", "gone", "zero"} {
			hpa := w.Web(name, 2)
			w.Onto(name, 2, "a")
			w.AddHPA(hpa)
		}
		r := &recorded{w: w, pods: map[observe.Key]int{}}
		w.Start(func(c *controllerhorizontal.Config) {
			k.Direct(c)
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
		w.Pass(10 * time.Second)
		want("all are decided on samples", "web", "other", "gone", "zero")
		w.Edit("other", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { horizontaltest.Externally(hpa) })
		w.SetReplicas("zero", 0)
		w.DeleteHPA("gone")
		w.Pass(2 * time.Minute)
		want("one has another metric, one is gone, and one is scaled to zero", "web")
	})
}
