package metric_test

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// now is the time of decisions; pods started an hour ago unless a test sets another time, so that the start-up delays
// are over.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const (
	initialization = 5 * time.Minute
	readinessDelay = 30 * time.Second
	window         = time.Minute
)

// pod returns a running, ready pod.
func pod(name string) metric.Pod {
	started := now.Add(-time.Hour)
	return metric.Pod{
		Name: name, Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
		StartTime: started, ReadyTransition: started.Add(time.Second),
	}
}

// sample returns a fresh value.
func sample(milli int64) metric.Sample {
	return metric.Sample{Present: true, Milli: milli, At: now, Window: window}
}

func request(milli int64) metric.Request { return metric.Request{Milli: milli} }

// scene has the inputs of one metric's evaluation.
type scene struct {
	spec    source.Spec
	pods    []metric.Pod
	reading metric.Reading
	// current is spec.replicas of the scale, existing its status.replicas.
	current, existing int32
	tolerance         metric.Tolerance
	set               divergence.Set
	// raisedAt is the time at which the count was raised, for a decision between two sync periods.
	raisedAt time.Time
	// unreached is an earlier proposal that a rate policy did not permit yet.
	unreached int32
}

func (s scene) evaluate() metric.Result {
	var r metric.Result
	metric.Evaluate(&s.spec, &s.reading, &metric.Context{
		Now: now, SpecReplicas: s.current, StatusReplicas: s.existing, Pods: s.pods,
		Tolerance: s.tolerance, Namespace: "shop",
		CPUInitializationPeriod: initialization, InitialReadinessDelay: readinessDelay,
		Divergences: s.set, RaisedAt: s.raisedAt,
	}, &r)
	return r
}

// running returns a scene of pods a, b, … with these values and requests of 1000m.
func running(spec source.Spec, values ...int64) scene {
	s := scene{
		spec: spec, current: int32(len(values)), existing: int32(len(values)),
		tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, set: divergence.Default,
	}
	for i, v := range values {
		s.pods = append(s.pods, pod(string(rune('a'+i))))
		s.reading.Samples = append(s.reading.Samples, sample(v))
		s.reading.Requests = append(s.reading.Requests, request(1000))
	}
	return s
}

// total returns a scene of ready pods and a metric with series.
func total(spec source.Spec, pods int, series ...int64) scene {
	s := running(spec, make([]int64, pods)...)
	s.reading = metric.Reading{Series: series}
	return s
}

// missing adds a pod without a sample.
func (s scene) missing(requestMilli int64) scene {
	return s.add(pod("missing"), metric.Sample{}, requestMilli)
}

// pending adds a pod that does not run yet.
func (s scene) pending(requestMilli int64) scene {
	p := pod("pending")
	p.Phase, p.Ready = metric.PhasePending, metric.ReadyFalse
	return s.add(p, metric.Sample{}, requestMilli)
}

func (s scene) add(p metric.Pod, v metric.Sample, requestMilli int64) scene {
	s.pods = append(s.pods[:len(s.pods):len(s.pods)], p)
	s.reading.Samples = append(s.reading.Samples[:len(s.reading.Samples):len(s.reading.Samples)], v)
	s.reading.Requests = append(s.reading.Requests[:len(s.reading.Requests):len(s.reading.Requests)],
		request(requestMilli))
	s.current++
	s.existing++
	return s
}

// at sets the counts of the scale: spec.replicas and status.replicas.
func (s scene) at(current, existing int32) scene {
	s.current, s.existing = current, existing
	return s
}

func (s scene) with(set divergence.Set) scene {
	s.set = set
	return s
}

func (s scene) tolerating(up, down float64) scene {
	s.tolerance = metric.Tolerance{Up: up, Down: down}
	return s
}

// extraneous adds values of pods that are not in the list of pods.
func (s scene) extraneous(values ...int64) scene {
	s.reading.Extraneous = values
	return s
}

// asking sets the request of pod i.
func (s scene) asking(i int, r metric.Request) scene {
	s.reading.Requests[i] = r
	return s
}

func utilization(percent int32) source.Spec {
	return source.Spec{
		Type: source.Resource, Name: "memory",
		Target: source.Target{Type: source.Utilization, Percent: percent},
	}
}

func averageOf(t source.Type, milli int64) source.Spec {
	return source.Spec{
		Type: t, Name: "rps", SelectorText: "nil", Object: source.ObjectRef{Kind: "Service", Name: "web"},
		Target: source.Target{Type: source.AverageValue, Milli: milli},
	}
}

func valueOf(t source.Type, milli int64) source.Spec {
	s := averageOf(t, milli)
	s.Target.Type = source.Value
	return s
}
