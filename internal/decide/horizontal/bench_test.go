package horizontal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// BenchmarkDecide makes a decision a second on an object with a utilization metric and the API server's default
// behavior, whose usage varies around its target.
func BenchmarkDecide(b *testing.B) { benchmarkDecide(b, forecast.Settings{}) }

// BenchmarkDecideWithForecast is BenchmarkDecide with a forecast: it learns from each decision, and each 60th uses it.
func BenchmarkDecideWithForecast(b *testing.B) { benchmarkDecide(b, active()) }

func benchmarkDecide(b *testing.B, settings forecast.Settings) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			p := utilization()
			p.Forecast = settings
			s, o := horizontal.State{}, steady(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now := noon.Add(time.Duration(i) * time.Second)
				o.Readings[0].Samples[0].Milli = int64(500 + i%7*40*n)
				i++
				_, s = horizontal.Decide(now, &p, s, &o)
			}
		})
	}
}

// utilization returns a policy with a utilization metric and the API server's default behavior.
func utilization() horizontal.Policy {
	p := policy(1, 2000)
	p.Behavior, p.Tolerance = defaults(), metric.Tolerance{Up: 0.1, Down: 0.1}
	p.Metrics = []source.Spec{{Type: source.Resource, Name: source.CPU,
		Target: source.Target{Type: source.Utilization, Percent: 50}}}
	return p
}

// BenchmarkDecideNew decides six seconds after the number of pods doubled. The samples have different times, and half
// of them reach back to before.
func BenchmarkDecideNew(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			p, o := utilization(), steady(n)
			p.CPUInitializationPeriod = 5 * time.Minute
			r := &o.Readings[0]
			for i := range o.Pods {
				r.Samples[i].Milli, r.Samples[i].At = 800, noon.Add(-time.Duration(i%10)*100*time.Millisecond)
				r.Earlier = append(r.Earlier, metric.Sample{Present: true, Milli: int64(400 + i%10), At: noon})
				if i%2 > 0 {
					o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-8*time.Second), noon.Add(-7*time.Second)
					r.Samples[i].Window = 5 * time.Second
					r.Earlier[i] = metric.Sample{}
				}
			}
			s := horizontal.State{Ready: history.Ready{
				{Time: noon.Add(-time.Minute), Pods: int32(n / 2)}, {Time: noon.Add(-6 * time.Second), Pods: int32(n)},
			}}
			b.ReportAllocs()
			var d horizontal.Decision
			for b.Loop() {
				d, s = horizontal.Decide(noon, &p, s, &o)
			}
			if m := &d.Metrics[0]; m.SharedMilli == 0 || m.Newest == 0 || d.Failed > 0 {
				b.Errorf("nothing is new: %+v", m)
			}
		})
	}
}

// BenchmarkDecideOwn is BenchmarkDecide on metrics that Plimsoll reads itself. 16 of 1000 pods have samples.
func BenchmarkDecideOwn(b *testing.B) {
	average := source.Target{Type: source.AverageValue, Milli: 500}
	for name, c := range map[string]struct {
		spec        source.Spec
		observation horizontal.Observation
	}{
		"PodEndpoint/pods=10":           {endpoint(), answered(10, 10)},
		"PodEndpoint/pods=1000":         {endpoint(), answered(1000, 1000)},
		"PodEndpoint/pods=1000,part=16": {endpoint(), answered(1000, 16)},
		"Prometheus":                    {source.Spec{Type: source.Prometheus, Name: "up", Target: average}, see(10, length(10))},
		"ExternalScaler": {source.Spec{Type: source.ExternalScaler, Name: "queue", Target: average},
			see(10, metric.Reading{Series: []int64{10_000}, Activity: metric.Active})},
	} {
		b.Run(name, func(b *testing.B) {
			p := policy(1, 2000)
			p.Behavior, p.WorkloadAutoscaler, p.Surge = defaults(), &horizontal.WorkloadAutoscaler{}, surge.Defaults()
			p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
			p.Metrics = []source.Spec{c.spec}
			s, o := horizontal.State{}, c.observation
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now := noon.Add(time.Duration(i) * time.Second)
				if r := &o.Readings[0]; len(r.Samples) > 0 {
					r.Samples[0].Milli = int64(500 + i%7*40)
				}
				i++
				_, s = horizontal.Decide(now, &p, s, &o)
			}
		})
	}
}

// endpoint returns a rate metric of the pods' endpoints with a target of half an event per second for each pod.
func endpoint() source.Spec {
	return source.Spec{
		Type: source.PodEndpoint, Name: "requests", Identity: "1", IsRate: true,
		Target: source.Target{Type: source.AverageValue, Milli: 500},
	}
}

// answered returns a target of n pods, of which a part has samples. Those are at their target.
func answered(n, part int) horizontal.Observation {
	o := steady(n)
	r := &o.Readings[0]
	r.Requests, r.Recent = nil, make([]metric.Recent, n)
	for i := range n {
		if i >= part {
			r.Samples[i] = metric.Sample{Unsampled: true}
			continue
		}
		for k := range r.Recent[i] {
			r.Recent[i][k] = metric.Sample{Present: true, Milli: 500, At: noon, Window: time.Second}
		}
	}
	return o
}

// BenchmarkReport makes the report of a decision.
func BenchmarkReport(b *testing.B) {
	p, o := policy(1, 2000), see(10, length(10))
	d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	b.ReportAllocs()
	for b.Loop() {
		statusreport.Of(&d, horizontal.Outcome{})
	}
}

// steady returns a target whose pods all run and use half of their request.
func steady(n int) horizontal.Observation {
	o := see(int32(n))
	var r metric.Reading
	started := noon.Add(-time.Hour)
	for i := range n {
		o.Pods = append(o.Pods, metric.Pod{
			Name: fmt.Sprintf("web-%d", i), Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			StartTime: started, ReadyTransition: started.Add(time.Second),
		})
		r.Samples = append(r.Samples, metric.Sample{Present: true, Milli: 500, At: noon, Window: 15 * time.Second})
		r.Requests = append(r.Requests, metric.Request{Milli: 1000})
	}
	o.Readings = []metric.Reading{r}
	return o
}
