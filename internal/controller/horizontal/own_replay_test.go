package horizontal

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestSampledPodsReplay: a part of the pods is asked, one of them is silent, with and without a last value, and then there
// is a surge.
func TestSampledPodsReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		hpa := w.web("web", 12)
		hpa.Spec.MaxReplicas = 100
		api.put(ownly(hpa, ofPods))
		o.milli, o.sample, o.broken = 10_000, 5, map[string]bool{"web-1": true}
		r := w.replayOf(t, observe.WLA("shop", "web"), divergence.Default)
		w.start(api.serve, rarely, o.read)
		w.pass(20*time.Second + 123456789*time.Nanosecond)
		o.set(func() { o.milli, o.silentMilli = 90_000, 50_000 })
		w.pass(5 * time.Second)
		r.want("of the surge window", func(d *horizontal.Decision) bool { return d.Proposed.Source == proposal.Surge })
		r.want("on a part of the pods",
			func(d *horizontal.Decision) bool { c := d.Metrics[0].Counts; return c.Unsampled > 0 && c.Missing > 0 })
		for _, part := range []string{"isSample: true", "intervals:", "isSilent: true"} {
			if last := r.saved[len(r.saved)-1]; !strings.Contains(last, part) {
				t.Errorf("%q is not in\n%s", part, last)
			}
		}
	})
}

// TestServersReplay: values, several series, a target and an activity of the scaler's own, errors and first values that
// are awaited.
func TestServersReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 2), ofScaler, ofQuery, ofPods)
		object.Spec.MinReplicas = ptr.To[int32](0)
		api.put(object)
		r := w.replayOf(t, observe.WLA("shop", "web"), divergence.Default)
		o.answer = sources.Answer{Series: []float64{12.3456, 20}, TargetMilli: 2500, Activity: metric.Active}
		w.start(api.serve, rarely, o.read)
		for _, answer := range []sources.Answer{
			{Series: []float64{12.3456, 0.0001}, TargetMilli: 2500, Activity: metric.Active},
			{Series: []float64{0}, TargetMilli: 2500, Activity: metric.Inactive, At: time.Now().Add(-time.Minute)},
			{Err: errServer, Activity: metric.Active},
			{Err: errServer},
			{Series: []float64{-3}, TargetMilli: 2500},
			{Series: []float64{1e17}, TargetMilli: 1},
		} {
			o.set(func() { o.answer = answer })
			w.pass(period + 123456789*time.Nanosecond)
		}
		r.want("with an error and an activity", func(d *horizontal.Decision) bool {
			return d.Metrics[0].Failure != nil && d.Metrics[0].Activity == metric.Active
		})
		r.want("with a target of the scaler's",
			func(d *horizontal.Decision) bool {
				return d.Metrics[0].TargetMilli == 2500 && d.Metrics[0].Total > 12_000
			})
		r.want("with values awaited", func(d *horizontal.Decision) bool { return d.Metrics[2].Pending })
	})
}
