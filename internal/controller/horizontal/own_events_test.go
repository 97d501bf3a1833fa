package horizontal

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// stabilized makes an object with a query alone, whose count falls after so long.
func stabilized(w *world, replicas int32, window time.Duration) *plimsollv1alpha1.WorkloadAutoscaler {
	object := ownly(w.web("web", replicas), ofQuery)
	object.Spec.Behavior = &plimsollv1alpha1.Behavior{ScaleDown: &plimsollv1alpha1.ScaleDownRules{
		StabilizationWindowSeconds: ptr.To(int32(window.Seconds())),
	}}
	return object
}

// touch changes a pod.
func (w *world) touch(name string) {
	w.t.Helper()
	w.changePod(name, func(p *corev1.Pod) {
		ready := &p.Status.Conditions[0]
		if ready.Status == corev1.ConditionTrue {
			ready.Status = corev1.ConditionFalse
		} else {
			ready.Status = corev1.ConditionTrue
		}
		p.Annotations = map[string]string{"changed": strconv.FormatInt(time.Now().UnixNano(), 10)}
	})
}

// TestUnsteadyPodsDelayNoLowering: where pods change all the time, and a server answers the same each time, the count
// falls all the same when its window is over.
func TestUnsteadyPodsDelayNoLowering(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(stabilized(w, 4, time.Minute))
		o.answer = sources.Answer{Series: []float64{40}}
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		o.set(func() { o.answer.Series = []float64{10} })
		o.sampled(observe.WLA("shop", "web"))
		for range 60 {
			w.touch("web-0")
			w.pass(2 * time.Second)
		}
		w.wantReplicas("web", 1, "a quarter of the load, two minutes ago")
	})
}

// TestEventsOfRareDecisionsDoNotLower: a decision because pods change lowers nothing, also while another one is due later.
func TestEventsOfRareDecisionsDoNotLower(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := stabilized(w, 4, 0)
		object.Spec.SyncPeriodSeconds = ptr.To[int32](3600)
		api.put(object)
		o.answer = sources.Answer{Series: []float64{40}}
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		o.set(func() { o.answer.Series = []float64{10} })
		w.touch("web-0")
		w.pass(time.Second)
		w.wantReplicas("web", 4, "a pod has changed, and nothing is sampled since")
		o.sampled(observe.WLA("shop", "web"))
		w.pass(period)
		w.wantReplicas("web", 1, "a quarter of the load was sampled")
	})
}

// TestSamplesBesideALaggingCache: samples that come while the cache is behind the last status write are decided on as
// samples when it has caught up, so that the count falls then.
func TestSamplesBesideALaggingCache(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(stabilized(w, 4, 0))
		o.answer = sources.Answer{Series: []float64{40}}
		w.start(api.serve, rarely, o.read)
		w.pass(20 * time.Second)
		answer := func(a sources.Answer) {
			o.set(func() { o.answer = a })
			o.sampled(observe.WLA("shop", "web"))
			w.pass(time.Second)
		}
		api.keepBehind(true)
		answer(sources.Answer{Err: errServer}) // which is written
		answer(sources.Answer{Series: []float64{10}})
		w.wantReplicas("web", 4, "the cache is behind")
		api.keepBehind(false)
		// By new samples alone a count falls as often as by the sync period.
		w.pass(trigger.LoweringPeriod)
		o.sampled(observe.WLA("shop", "web"))
		w.pass(100 * time.Millisecond)
		w.wantReplicas("web", 1, "a quarter of the load was sampled")
	})
}
