package own_test

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// stabilized makes an object with a query alone, whose count falls after so long.
func stabilized(w *world, replicas int32, window time.Duration) *plimsollv1alpha1.WorkloadAutoscaler {
	object := horizontaltest.Ownly(w.Web("web", replicas), ofQuery)
	object.Spec.Behavior = &plimsollv1alpha1.Behavior{ScaleDown: &plimsollv1alpha1.ScaleDownRules{
		StabilizationWindowSeconds: ptr.To(int32(window.Seconds())),
	}}
	return object
}

// touch changes a pod.
func (w *world) touch(name string) {
	w.T.Helper()
	w.ChangePod(name, func(p *corev1.Pod) {
		ready := &p.Status.Conditions[0]
		if ready.Status == corev1.ConditionTrue {
			ready.Status = corev1.ConditionFalse
		} else {
			ready.Status = corev1.ConditionTrue
		}
		p.Annotations = map[string]string{"changed": strconv.FormatInt(time.Now().UnixNano(), 10)}
	})
}

// TestUnsteadyPodsDelayNoLowering: if pods change all the time, and a server returns the same value each time, the
// count still falls at the end of its window.
func TestUnsteadyPodsDelayNoLowering(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(stabilized(w, 4, time.Minute))
		o.Answer = sources.Answer{Series: []float64{40}}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		o.Change(func() { o.Answer.Series = []float64{10} })
		o.Sampled(observe.WLA("shop", "web"))
		for range 60 {
			w.touch("web-0")
			w.Pass(2 * time.Second)
		}
		w.WantReplicas("web", 1, "a quarter of the load, two minutes ago")
	})
}

// TestEventsOfRareDecisionsDoNotLower: a decision because pods change lowers no count, also while another decision is
// due later.
func TestEventsOfRareDecisionsDoNotLower(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := stabilized(w, 4, 0)
		object.Spec.SyncPeriodSeconds = ptr.To[int32](3600)
		api.Put(object)
		o.Answer = sources.Answer{Series: []float64{40}}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		o.Change(func() { o.Answer.Series = []float64{10} })
		w.touch("web-0")
		w.Pass(time.Second)
		w.WantReplicas("web", 4, "a pod has changed, and nothing is sampled since")
		o.Sampled(observe.WLA("shop", "web"))
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 1, "a quarter of the load was sampled")
	})
}

// TestSamplesBesideALaggingCache: samples that arrive while the cache is behind the last status write trigger a
// decision on samples once it has caught up, so that the count falls then.
func TestSamplesBesideALaggingCache(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(stabilized(w, 4, 0))
		o.Answer = sources.Answer{Series: []float64{40}}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(20 * time.Second)
		answer := func(a sources.Answer) {
			o.Change(func() { o.Answer = a })
			o.Sampled(observe.WLA("shop", "web"))
			w.Pass(time.Second)
		}
		api.KeepBehind(true)
		answer(sources.Answer{Err: horizontaltest.ErrServer}) // the status shows it
		answer(sources.Answer{Series: []float64{10}})
		w.WantReplicas("web", 4, "the cache is behind")
		api.KeepBehind(false)
		// New samples alone lower a count once in a sync period.
		w.Pass(trigger.LoweringPeriod)
		o.Sampled(observe.WLA("shop", "web"))
		w.Pass(100 * time.Millisecond)
		w.WantReplicas("web", 1, "a quarter of the load was sampled")
	})
}
