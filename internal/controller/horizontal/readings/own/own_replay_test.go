package own_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestSampledPodsReplay: a part of the pods is sampled, one of them does not respond, with and without a last value,
// and then there is a surge.
func TestSampledPodsReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		hpa := w.Web("web", 12)
		hpa.Spec.MaxReplicas = 100
		api.Put(horizontaltest.Ownly(hpa, ofPods))
		o.Milli, o.Sample, o.Broken = 10_000, 5, map[string]bool{"web-1": true}
		r := w.ReplayOf(t, observe.WLA("shop", "web"), divergence.Default)
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(20*time.Second + 123456789*time.Nanosecond)
		o.Change(func() { o.Milli, o.SilentMilli = 90_000, 50_000 })
		w.Pass(5 * time.Second)
		r.Want("of the surge window", func(d *horizontal.Decision) bool { return d.Proposed.Source == proposal.Surge })
		r.Want("on a part of the pods",
			func(d *horizontal.Decision) bool { c := d.Metrics[0].Counts; return c.Unsampled > 0 && c.Missing > 0 })
		for _, part := range []string{"isSample: true", "intervals:", "isSilent: true"} {
			if last := r.Saved[len(r.Saved)-1]; !strings.Contains(last, part) {
				t.Errorf("%q is not in\n%s", part, last)
			}
		}
	})
}

// TestServersReplay: values, several series, the scaler's own target and activity, errors, and missing first values.
func TestServersReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 2), ofScaler, ofQuery, ofPods)
		object.Spec.MinReplicas = ptr.To[int32](0)
		api.Put(object)
		r := w.ReplayOf(t, observe.WLA("shop", "web"), divergence.Default)
		o.Answer = sources.Answer{Series: []float64{12.3456, 20}, TargetMilli: 2500, Activity: metric.Active}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		for _, answer := range []sources.Answer{
			{Series: []float64{12.3456, 0.0001}, TargetMilli: 2500, Activity: metric.Active},
			{Series: []float64{0}, TargetMilli: 2500, Activity: metric.Inactive, At: time.Now().Add(-time.Minute)},
			{Err: horizontaltest.ErrServer, Activity: metric.Active},
			{Err: horizontaltest.ErrServer},
			{Series: []float64{-3}, TargetMilli: 2500},
			{Series: []float64{1e17}, TargetMilli: 1},
		} {
			o.Change(func() { o.Answer = answer })
			w.Pass(horizontaltest.Period + 123456789*time.Nanosecond)
		}
		r.Want("with an error and an activity", func(d *horizontal.Decision) bool {
			return d.Metrics[0].Failure != nil && d.Metrics[0].Activity == metric.Active
		})
		r.Want("with a target of the scaler's",
			func(d *horizontal.Decision) bool {
				return d.Metrics[0].TargetMilli == 2500 && d.Metrics[0].Total > 12_000
			})
		r.Want("with values awaited", func(d *horizontal.Decision) bool { return d.Metrics[2].Pending })
	})
}

// TestOtherPodsReplay: pods that are not the target's, one of which does not respond.
func TestOtherPodsReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		w.gatewayPod("gateway-1")
		w.gatewayPod("gateway-2")
		api.Put(w.ofGateway(2))
		o.OtherMilli = 10_000
		r := w.ReplayOf(t, web, divergence.Default)
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(20*time.Second + 123456789*time.Nanosecond)
		o.Change(func() { o.Broken["gateway-2"] = true })
		w.Pass(5 * time.Second)
		o.Change(func() { o.OtherMilli = 50_000 })
		w.Pass(5 * time.Second)
		r.Want("on all pods", func(d *horizontal.Decision) bool { return d.Metrics[0].Total == 20_000 })
		r.Want("that lowers nothing on a part", func(d *horizontal.Decision) bool { return d.Metrics[0].Failure != nil })
		r.Want("on a part of the pods", func(d *horizontal.Decision) bool { return d.Metrics[0].Total == 50_000 })
		if last := r.Saved[len(r.Saved)-1]; !strings.Contains(last, "isLeast: true") || !strings.Contains(last, "incomplete:") {
			t.Errorf("that only a part is known is not in\n%s", last)
		}
	})
}
