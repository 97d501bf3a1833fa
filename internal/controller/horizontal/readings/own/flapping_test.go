package own_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// isActive reports whether the metrics can be read, as the object's status shows it.
func isActive(object *plimsollv1alpha1.WorkloadAutoscaler) bool {
	for _, c := range object.Status.Conditions {
		if c.Type == string(autoscalingv2.ScalingActive) {
			return string(c.Status) == string(corev1.ConditionTrue)
		}
	}
	return false
}

// TestFlappingServer: a server succeeds and fails alternately, every second. The status shows its first failure and its
// first recovery at once; then it is written once in an interval, and shows the last state in the end.
func TestFlappingServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(horizontaltest.Ownly(w.Web("web", 4), ofQuery))
		good := sources.Answer{Series: []float64{40}}
		o.Answer = good
		w.Start(api.Serve, o.Read, func(c *controllerhorizontal.Config) { c.StatusInterval, c.EventInterval = time.Minute, 14*time.Second })
		w.Pass(2 * time.Minute)
		w.Set(func() { w.Events = nil })
		version, writes, flips := api.Get("web").ResourceVersion, 0, []bool{}
		answer := func(fails bool) {
			o.Change(func() {
				o.Answer = good
				if fails {
					o.Answer = sources.Answer{Err: horizontaltest.ErrServer}
				}
			})
			o.Sampled(observe.WLA("shop", "web"))
			w.Pass(time.Second)
			object := api.Get("web")
			if object.ResourceVersion != version {
				version = object.ResourceVersion
				writes++
			}
			flips = append(flips, isActive(object))
		}
		for second := range 120 {
			answer(second%2 == 0)
		}
		if flips[0] || !flips[1] {
			t.Error("neither the first failure nor the return is shown at once")
		}
		if writes > 4 {
			t.Errorf("%d writes in two minutes", writes)
		}
		// FailedGetExternalMetric and FailedComputeMetricsReplicas, as upstream in each of its sync periods.
		w.Set(func() {
			if len(w.Events) > 2*120/14+2 {
				t.Errorf("%d events in two minutes: %s", len(w.Events), strings.Join(w.Events[:4], "; "))
			}
		})
		for range 61 {
			answer(true)
		}
		if flips[len(flips)-1] {
			t.Error("the failure that stays is not shown after an interval")
		}
		writes = 0
		for range 120 {
			answer(true)
		}
		if writes != 0 {
			t.Errorf("%d writes of the same status", writes)
		}
		answer(false)
		if !flips[len(flips)-1] {
			t.Error("the first return after minutes is not shown at once")
		}
	})
}

// TestFlappingMetricsOfHPA: an adapter succeeds and fails alternately, once in each sync period.
func TestFlappingMetricsOfHPA(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fails := false
		w.ExternalValue = func(context.Context) (int64, error) {
			if fails {
				return 0, errors.New("the server could not find the metric")
			}
			return 400, nil
		}
		w.AddHPA(horizontaltest.Externally(w.Web("web", 4)))
		w.Start(func(c *controllerhorizontal.Config) { c.StatusInterval = time.Minute })
		w.Pass(8 * horizontaltest.Period)
		w.Set(func() { fails = true })
		writes := 0
		w.Set(func() { w.BeforeStatus = func() error { writes++; return nil } })
		const periods = 40
		for range periods {
			w.Pass(horizontaltest.Period)
			w.Set(func() { fails = !fails })
		}
		if most := periods*int(horizontaltest.Period.Seconds())/60 + 3; writes > most || writes < 4 {
			t.Errorf("%d writes in %d periods, want at most %d", writes, periods, most)
		}
	})
}

// TestNewsBesideFlaps: the status shows at once that the target is gone, also beside a flapping metric.
func TestNewsBesideFlaps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(horizontaltest.Ownly(w.Web("web", 4), ofQuery))
		o.Answer = sources.Answer{Series: []float64{40}}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * time.Minute)
		for second := range 31 {
			o.Change(func() {
				o.Answer = sources.Answer{Series: []float64{40}}
				if second%2 == 0 {
					o.Answer = sources.Answer{Err: horizontaltest.ErrServer}
				}
			})
			o.Sampled(observe.WLA("shop", "web"))
			w.Pass(time.Second)
		}
		w.SetReplicas("web", 7)
		w.Pass(2 * time.Second)
		if n := api.Get("web").Status.CurrentReplicas; n != 7 {
			t.Errorf("status has %d replicas of 7", n)
		}
	})
}
