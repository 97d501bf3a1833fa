package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// queueOf is a policy for a queue with ten entries for each replica, and without a window.
func queueOf(m mode.Mode) horizontal.Policy {
	return horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 10, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Mode: m},
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 10_000},
		}},
	}
}

func queued(replicas int32, n int64) horizontal.Observation {
	return horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: replicas}, Pods: readyPods(int(replicas)),
		Readings: []metric.Reading{{Series: []int64{1000 * n}}},
	}
}

// TestForecastBehindAWindow: where a window keeps as many replicas as the forecast asks for, the sentence names the
// forecast, and announces no fall at the end of the window.
func TestForecastBehindAWindow(t *testing.T) {
	p := queueOf(mode.Active)
	p.Forecast.Mode = forecast.Active
	p.DownscaleStabilization = 5 * time.Minute
	for want, asks := range map[string]int32{
		"Held at 6 until 12:05:00, then 2: queue asks for 2, but 6 was asked for at 12:00:00, and scaleDown takes the " +
			"highest of 5 min.": 0,
		"Stays at 6: queue asks for 2, but 6 was asked for at 12:00:00, and scaleDown takes the highest of 5 min; the " +
			"forecast asks for 6.": 6,
	} {
		in := played(&p, []int{0, 15}, queued(6, 60), queued(6, 15))
		in.Decision.Forecast = forecast.Result{Reason: forecast.ReasonInUse, Replicas: asks}
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestRefusalNamesTheModeOfTheSpec: an object that may not act is decided as in Preview, which is not its mode.
func TestRefusalNamesTheModeOfTheSpec(t *testing.T) {
	for m, want := range map[mode.Mode]string{
		mode.Active:  "Stays at 2: HPA shop/web scales it; it would scale to 4.",
		mode.Preview: "Stays at 2: HPA shop/web scales it; the mode is Preview, and mode Active would scale to 4.",
	} {
		p, o := queueOf(m), queued(2, 35)
		o.Refusal = horizontal.Refusal{Reason: "TargetHasAnotherAutoscaler", Message: "HPA shop/web scales it"}
		if got := Of(played(&p, []int{0}, o)).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestPendingPods: of pods that have not started no source has a sample, which is no fault of the source.
func TestPendingPods(t *testing.T) {
	for want, o := range map[string]horizontal.Observation{
		"Stays at 2: CPU cannot be read (all 2 pods are Pending).": {Pods: []metric.Pod{
			{Name: "web-0", Phase: metric.PhasePending}, {Name: "web-1", Phase: metric.PhasePending},
		}},
		"Stays at 2: CPU cannot be read (the only pod is Pending).": {Pods: []metric.Pod{
			{Name: "web-0", Phase: metric.PhasePending},
		}},
		"Stays at 2: CPU cannot be read (failed to get cpu utilization: unable to get metrics for resource cpu: unable to " +
			"fetch metrics from resource metrics API: no such server).": {Pods: append(readyPods(1), metric.Pod{Name: "web-1", Phase: metric.PhasePending})},
	} {
		p := queueOf(mode.Active)
		p.Metrics = []source.Spec{{
			Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
		}}
		o.Target.SpecReplicas = 2
		o.Readings = []metric.Reading{{Error: "no such server"}}
		if got := Of(played(&p, []int{0}, o)).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
