package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestStartLeftOut: where a value leaves out a part of what the pods use, as their start, the sentence has that use.
func TestStartLeftOut(t *testing.T) {
	of := func(target source.Target, readyFor time.Duration, milli int64) Input {
		p := upTo(10, source.Spec{Type: source.Resource, Name: "cpu", Target: target})
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 3}, Pods: readyPods(3),
			Readings: []metric.Reading{{Samples: samples(milli, milli, milli)}},
		}
		for i := range o.Pods {
			o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-readyFor-3*time.Second), noon.Add(-readyFor)
			o.Readings[0].Samples[i].Window = time.Second
			o.Readings[0].Requests = append(o.Readings[0].Requests, metric.Request{Milli: 100})
		}
		return played(&p, []int{0}, o)
	}
	utilization := source.Target{Type: source.Utilization, Percent: 50}
	average := source.Target{Type: source.AverageValue, Milli: 50}
	checkSentences(t, map[string]Input{
		"Stays at 3: CPU is at 50 % (target 50 %; the pods use 201 %, a part of which is left out as the start of new pods).": of(
			utilization, 5*time.Second, 201),
		"Stays at 3: CPU is at 100 % of its target (the pods use 402 % of it, a part of which is left out as the start of " +
			"new pods).": of(average, 5*time.Second, 201),
		"Stays at 3: CPU is at 50 % (target 50 %).": of(utilization, time.Hour, 50),
	})
}

// TestFallbackPolicy: a fallback that keeps the current count says so, before it begins and after.
func TestFallbackPolicy(t *testing.T) {
	p := upTo(10, averageOf(source.External, "jobs"))
	p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
	p.Metrics[0].Fallback = source.Fallback{
		FailureDuration: time.Minute, Replicas: 2, Policy: source.CurrentReplicasIfHigher,
	}
	down := func() horizontal.Observation {
		return horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 5}, Readings: []metric.Reading{{Error: "down"}},
		}
	}
	checkSentences(t, map[string]Input{
		"Stays at 5: jobs cannot be read (external metrics API: down); if jobs still cannot be read at 12:01:00, its " +
			"fallback keeps the current count, at least 2.": played(&p, []int{0}, down()),
		"Stays at 5: jobs cannot be read since 12:00:00 (external metrics API: down), and its fallback keeps the current " +
			"count, at least 2.": played(
			&p, []int{0, 60}, down(), down()),
	})
}

// TestCountBeforeAFallback: a fallback that changed the count has how many replicas there were, once the count is that
// of the fallback.
func TestCountBeforeAFallback(t *testing.T) {
	p := upTo(10, averageOf(source.External, "jobs"))
	p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
	p.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: 2}
	down := func() horizontal.Observation {
		return horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 5}, Readings: []metric.Reading{{Error: "down"}},
		}
	}
	const failing = "jobs cannot be read since 12:00:00 (external metrics API: down), and its fallback asks for 2"
	checkSentences(t, map[string]Input{
		"Scales from 5 to 2: " + failing + ".":                 played(&p, []int{0, 60}, down(), down()),
		"Stays at 2: " + failing + "; before it there were 5.": played(&p, []int{0, 60, 75}, down(), down(), down()),
	})
}

// TestUnreadNodes: where metrics.k8s.io has no samples, the sentence has why there are none of the nodes either.
func TestUnreadNodes(t *testing.T) {
	p := upTo(10, source.Spec{
		Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
	})
	of := func(r metric.Reading, unread UnreadNodes) Input {
		in := played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(4), Readings: []metric.Reading{r},
		})
		in.Unread = unread
		return in
	}
	const node = "kubelet of node node-2 at 127.0.0.1:39997: it answered 500 Internal Server Error"
	empty := metric.Reading{Empty: true}
	checkSentences(t, map[string]Input{
		"Stays at 4: CPU cannot be read (metrics.k8s.io has no samples of the pods, and 4 of their nodes cannot be read: " +
			node + ").": of(empty, UnreadNodes{Nodes: 4, Error: node}),
		"Stays at 4: CPU cannot be read (metrics.k8s.io has no samples of the pods, and their node cannot be read: " +
			node + ").": of(empty, UnreadNodes{Nodes: 1, Error: node}),
		"Stays at 4: CPU cannot be read (metrics.k8s.io has no samples of the pods, and their nodes cannot be read: " +
			node + ").": of(empty, UnreadNodes{Error: node}),
		"Stays at 4: CPU cannot be read (metrics.k8s.io has no samples of the pods).": of(empty, UnreadNodes{}),
		"Stays at 4: CPU cannot be read (the cluster has no API metrics.k8s.io, see kubectl get apiservices, and 4 of their " +
			"nodes cannot be read: " + node + ").": of(metric.Reading{Error: noResource}, UnreadNodes{Nodes: 4, Error: node}),
		"Stays at 4: CPU cannot be read (missing request for cpu in container app of Pod web-0).": of(metric.Reading{
			Samples: samples(1, 1, 1, 1), Requests: []metric.Request{
				{Missing: metric.ContainerWithoutRequest, Container: "app"}, {Milli: 1}, {Milli: 1}, {Milli: 1},
			},
		}, UnreadNodes{Nodes: 4, Error: node}),
	})
}
