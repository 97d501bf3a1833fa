package horizontal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
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

// TestFlappingServer: a server that answers and fails in turn, every second. Its first failure and its first return are
// shown at once; then a status is written once in an interval, and the last of them stays.
func TestFlappingServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(ownly(w.web("web", 4), ofQuery))
		good := sources.Answer{Series: []float64{40}}
		o.answer = good
		w.start(api.serve, o.read, func(c *Config) { c.StatusInterval, c.EventInterval = time.Minute, 14*time.Second })
		w.pass(2 * time.Minute)
		w.set(func() { w.events = nil })
		version, writes, flips := api.get("web").ResourceVersion, 0, []bool{}
		answer := func(fails bool) {
			o.set(func() {
				o.answer = good
				if fails {
					o.answer = sources.Answer{Err: errServer}
				}
			})
			o.sampled(observe.WLA("shop", "web"))
			w.pass(time.Second)
			object := api.get("web")
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
		w.set(func() {
			if len(w.events) > 2*120/14+2 {
				t.Errorf("%d events in two minutes: %s", len(w.events), strings.Join(w.events[:4], "; "))
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

// TestFlappingMetricsOfHPA: an adapter that answers and fails in turn, one answer for each sync period.
func TestFlappingMetricsOfHPA(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fails := false
		w.external = func(context.Context) (int64, error) {
			if fails {
				return 0, errors.New("the server could not find the metric")
			}
			return 400, nil
		}
		w.addHPA(externally(w.web("web", 4)))
		w.start(func(c *Config) { c.StatusInterval = time.Minute })
		w.pass(8 * period)
		w.set(func() { fails = true })
		writes := 0
		w.set(func() { w.beforeStatus = func() error { writes++; return nil } })
		const periods = 40
		for range periods {
			w.pass(period)
			w.set(func() { fails = !fails })
		}
		if most := periods*int(period.Seconds())/60 + 3; writes > most || writes < 4 {
			t.Errorf("%d writes in %d periods, want at most %d", writes, periods, most)
		}
	})
}

// TestNewsBesideFlaps: that the target is gone is shown at once, whatever a metric does.
func TestNewsBesideFlaps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(ownly(w.web("web", 4), ofQuery))
		o.answer = sources.Answer{Series: []float64{40}}
		w.start(api.serve, rarely, o.read)
		w.pass(2 * time.Minute)
		for second := range 31 {
			o.set(func() {
				o.answer = sources.Answer{Series: []float64{40}}
				if second%2 == 0 {
					o.answer = sources.Answer{Err: errServer}
				}
			})
			o.sampled(observe.WLA("shop", "web"))
			w.pass(time.Second)
		}
		w.setReplicas("web", 7)
		w.pass(2 * time.Second)
		if n := api.get("web").Status.CurrentReplicas; n != 7 {
			t.Errorf("status has %d replicas of 7", n)
		}
	})
}
