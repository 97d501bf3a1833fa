package horizontal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// BenchmarkDecide is a decision a second on an object with a utilization metric
// and the API server's default behavior, whose usage wanders around its target.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			p := policy(1, 2000)
			p.Behavior = defaults()
			p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
			p.Metrics = []source.Spec{{Type: source.Resource, Name: source.CPU,
				Target: source.Target{Type: source.Utilization, Percent: 50}}}
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

// BenchmarkReport is what every decision costs besides.
func BenchmarkReport(b *testing.B) {
	p, o := policy(1, 2000), see(10, length(10))
	d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	b.ReportAllocs()
	for b.Loop() {
		d.Report(horizontal.Outcome{})
	}
}

// steady is a target whose pods all run and use half of their request.
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
