package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// upTo is a policy with these metrics and at most so many replicas.
func upTo(most int32, metrics ...source.Spec) horizontal.Policy {
	return horizontal.Policy{
		MinReplicas: 1, MaxReplicas: most, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second, Metrics: metrics,
	}
}

func averageOf(kind source.Type, name string) source.Spec {
	return source.Spec{Type: kind, Name: name, Target: source.Target{Type: source.AverageValue, Milli: 1000}}
}

func wholeOf(kind source.Type, name string) source.Spec {
	return source.Spec{Type: kind, Name: name, Target: source.Target{Type: source.Value, Milli: 1000}}
}

// TestExcess: at maxReplicas, the sentence promises that more pods take the load only of what they share.
func TestExcess(t *testing.T) {
	of := func(spec source.Spec, r metric.Reading) Input {
		p := upTo(4, spec)
		return played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(4), Readings: []metric.Reading{r},
		})
	}
	few := metric.Reading{Samples: samples(375, 375, 375, 375)}
	each, whole := metric.Reading{Samples: samples(1500, 1500, 1500, 1500)}, metric.Reading{Series: []int64{1500}}
	total := metric.Reading{Series: []int64{6000}}
	heap := averageOf(source.ContainerResource, "memory")
	heap.GivenName = "heap"
	rate := averageOf(source.PodEndpoint, "requests")
	rate.IsRate = true
	shared := wholeOf(source.PodEndpoint, "inflight")
	shared.IsRate = true
	const load, lower = "50 % more load than 4 pods take at the target.", ", and more pods help only if they lower it."
	for name, tt := range map[string]struct {
		in   Input
		want string
	}{
		"CPU":                     {of(averageOf(source.Resource, "cpu"), each), load},
		"a queue for each pod":    {of(averageOf(source.External, "queue"), total), load},
		"events per second":       {of(rate, each), load},
		"memory":                  {of(averageOf(source.Resource, "memory"), each), "memory is at 150 % of its target" + lower},
		"memory of a container":   {of(heap, each), "heap is at 150 % of its target" + lower},
		"a whole value":           {of(wholeOf(source.External, "queue"), whole), "queue is at 150 % of its target" + lower},
		"a whole value of events": {of(shared, few), "inflight is at 150 % of its target" + lower},
		"a value of the pods":     {of(averageOf(source.Pods, "sessions"), each), "sessions is at 150 % of its target."},
	} {
		if got := Of(tt.in).Text; got != "Asks for 6, limited to 4 by maxReplicas; "+tt.want {
			t.Errorf("%s: got  %s", name, got)
		}
	}
}

// TestExcessBesideMemory: the load is said of no metric alone if it may be that of another one.
func TestExcessBesideMemory(t *testing.T) {
	p := upTo(4, averageOf(source.External, "queue"), averageOf(source.Resource, "memory"))
	got := Of(played(&p, []int{0}, horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(4),
		Readings: []metric.Reading{{Series: []int64{9000}}, {Samples: samples(1500, 1500, 1500, 1500)}},
	})).Text
	if want := "Asks for 9, limited to 4 by maxReplicas."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestExcessWithoutSamples: at maxReplicas, pods without a sample count as using nothing, which makes what is asked for
// less than the load needs.
func TestExcessWithoutSamples(t *testing.T) {
	p := upTo(4, averageOf(source.Resource, "cpu"))
	of := func(values ...int64) Input {
		return played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(4), Readings: []metric.Reading{{Samples: samples(values...)}},
		})
	}
	checkSentences(t, map[string]Input{
		"Asks for 9, limited to 4 by maxReplicas; web-0 has no sample and counts as using nothing; if all 4 used as much, it " +
			"would ask for 12.": of(-1, 3000, 3000, 3000),
		"Asks for 6, limited to 4 by maxReplicas; web-0 and web-1 have no sample and count as using nothing; if all 4 used as " +
			"much, it would ask for 12.": of(-1, -1, 3000, 3000),
	})
	p.MaxReplicas = 20
	checkSentences(t, map[string]Input{
		"Scales from 4 to 8: CPU asks for 9, and without behavior a decision doubles the count at most; then 9 with the next " +
			"decision; web-0 has no sample and counts as using nothing.": of(-1, 3000, 3000, 3000),
	})
}

// TestExcessOfNewPods: at maxReplicas, what pods use may be their start.
func TestExcessOfNewPods(t *testing.T) {
	p := upTo(4, averageOf(source.Resource, "cpu"))
	of := func(ages ...time.Duration) Input {
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(len(ages)),
			Readings: []metric.Reading{{Samples: samples(1500, 1500, 1500, 1500)[:len(ages)]}},
		}
		for i, age := range ages {
			o.Pods[i].StartTime, o.Pods[i].ReadyTransition = noon.Add(-age), noon.Add(-age+3*time.Second)
		}
		return played(&p, []int{0}, o)
	}
	const recent = 80 * time.Second
	checkSentences(t, map[string]Input{
		"Asks for 6, limited to 4 by maxReplicas; CPU is at 150 % of its target, a part of which may be the start of the " +
			"pods: all 4 have started since 11:58:30.": of(recent, recent, recent+10*time.Second, recent),
		"Asks for 6, limited to 4 by maxReplicas; CPU is at 150 % of its target, a part of which may be the start of the " +
			"pods: 3 of 4 have started since 11:58:40.": of(recent, time.Hour, recent, recent),
		"Asks for 6, limited to 4 by maxReplicas; 50 % more load than 4 pods take at the target.": of(
			time.Hour, time.Hour, recent, recent),
	})
}

// TestUnreadyPods: pods that are not ready are named, whether what they use counts or not.
func TestUnreadyPods(t *testing.T) {
	cpu, queue := upTo(10, averageOf(source.Resource, "cpu")), upTo(10, wholeOf(source.External, "queue"))
	of := func(p *horizontal.Policy, change func([]metric.Pod), r metric.Reading) Input {
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 4}, Pods: readyPods(4), Readings: []metric.Reading{r},
		}
		o.Pods = append(o.Pods, readyPods(4)...)[:4]
		change(o.Pods)
		return played(p, []int{0}, o)
	}
	unready := func(n int) func([]metric.Pod) {
		return func(pods []metric.Pod) {
			for i := range n {
				pods[i].Ready, pods[i].ReadyTransition = metric.ReadyFalse, noon.Add(-45*time.Second)
			}
		}
	}
	starting := func(n int) func([]metric.Pod) {
		return func(pods []metric.Pod) {
			for i := range n {
				pods[i].Ready, pods[i].StartTime = metric.ReadyFalse, noon.Add(-time.Minute)
				pods[i].ReadyTransition = pods[i].StartTime
			}
		}
	}
	// They started two minutes ago and were ready.
	unreadyAgain := func(n int) func([]metric.Pod) {
		return func(pods []metric.Pod) {
			for i := range n {
				pods[i].Ready, pods[i].StartTime = metric.ReadyFalse, noon.Add(-2*time.Minute)
				pods[i].ReadyTransition = noon.Add(-45 * time.Second)
			}
		}
	}
	mixed := func(pods []metric.Pod) {
		unreadyAgain(2)(pods)
		starting(1)(pods)
	}
	each := func(values ...int64) metric.Reading { return metric.Reading{Samples: samples(values...)} }
	checkSentences(t, map[string]Input{
		"Stays at 4: CPU is at 100 % of its target; web-0 is not ready.": of(&cpu, unready(1), each(0, 1334, 1333, 1333)),
		"Stays at 4: CPU is at 100 % of its target; 2 of 4 pods are not ready, such as web-0.": of(&cpu, unready(2),
			each(0, 0, 2000, 2000)),
		"Stays at 4: CPU is at 100 % of its target; none of 4 pods is ready.": of(&cpu, unready(4), each(1000, 1000, 1000, 1000)),
		"Stays at 4: CPU is at 134 % of its target on 3 ready pods, but would be at 100.5 % on all 4; web-0 is still " +
			"starting.": of(
			&cpu, starting(1), each(0, 1340, 1340, 1340)),
		"Stays at 4: CPU is at 134 % of its target on 3 ready pods, but would be at 100.5 % on all 4; web-0 is not ready.": of(
			&cpu, unreadyAgain(1), each(0, 1340, 1340, 1340)),
		"Stays at 4: CPU is at 150 % of its target on 2 ready pods, but would be at 75 % on all 4; web-0 and web-1 are " +
			"still starting or not ready.": of(&cpu, mixed, each(0, 0, 1500, 1500)),
		"Stays at 4: CPU is at 100 % of its target; web-0 is still starting.": of(&cpu, starting(1), each(0, 1000, 1000, 1000)),
		"Stays at 4: queue is at 330 % of its target, but none of 4 pods is ready, so the count is not computed from it.": of(
			&queue, unready(4), metric.Reading{Series: []int64{3300}}),
		"Scales from 4 to 8: queue asks for 10, and without behavior a decision doubles the count at most; then 10 with the " +
			"next decision; only 3 of 4 replicas are ready.": of(&queue, unready(1), metric.Reading{Series: []int64{3300}}),
	})
}

// TestNoneReadyAtMax: a count that an earlier value asked for stays while no pod is ready, which the sentence says.
func TestNoneReadyAtMax(t *testing.T) {
	p := upTo(10, wholeOf(source.External, "queue"))
	p.DownscaleStabilization = 5 * time.Minute
	of := func(ready metric.Readiness, replicas int) horizontal.Observation {
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: int32(replicas)}, Pods: readyPods(replicas),
			Readings: []metric.Reading{{Series: []int64{3300}}},
		}
		for i := range o.Pods {
			o.Pods[i].Ready = ready
		}
		return o
	}
	checkSentences(t, map[string]Input{
		"Stays at 10, which is maxReplicas: queue is at 330 % of its target, but none of 10 pods is ready, so the count " +
			"is not computed from it; 33 was asked for at 12:00:00, and the highest of the last 5 min counts.": played(&p, []int{0, 60},
			of(metric.ReadyTrue, 10), of(metric.ReadyFalse, 10)),
	})
}

// TestFloor: a window behind minReplicas changes nothing, and is not said.
func TestFloor(t *testing.T) {
	p := upTo(10, averageOf(source.External, "queue"))
	p.MinReplicas, p.DownscaleStabilization = 3, 5*time.Minute
	of := func(n int64) horizontal.Observation {
		return horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 3}, Pods: readyPods(3), Readings: []metric.Reading{{Series: []int64{n}}},
		}
	}
	checkSentences(t, map[string]Input{
		"Stays at 3: minReplicas is 3, and queue asks for 0.": played(&p, []int{0, 60}, of(3000), of(0)),
	})
}

// TestPausedBelowTheDemand: what mode Active would do at first is not all that is asked for.
func TestPausedBelowTheDemand(t *testing.T) {
	paused := queueOf(mode.Paused)
	held := paused
	held.DownscaleStabilization = 5 * time.Minute
	checkSentences(t, map[string]Input{
		"Stays at 2: the mode is Paused; mode Active would scale to 4: queue asks for 6, and without behavior a decision " +
			"doubles the count at most.": played(&paused, []int{0}, queued(2, 60)),
		"Stays at 2: the mode is Paused; mode Active would scale to 4: queue asks for 5, and without behavior a decision " +
			"doubles the count at most.": played(&held, []int{0, 15}, queued(2, 60), queued(2, 50)),
		"Stays at 2: the mode is Paused; mode Active would scale to 3.": played(&paused, []int{0}, queued(2, 30)),
	})
}

// TestInactive: at zero, the sentence has why the only metric is not active.
func TestInactive(t *testing.T) {
	of := func(r metric.Reading, all ...source.Spec) Input {
		p := upTo(10, all...)
		p.MinReplicas = 0
		p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: 5 * time.Minute}}
		return played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{}, Readings: []metric.Reading{r, r}[:len(all)],
		})
	}
	queue, jobs := averageOf(source.External, "queue"), averageOf(source.ExternalScaler, "jobs")
	queue.ActivationMilli = 5500
	unnamed := jobs
	unnamed.Name = ""
	kedas := jobs
	kedas.Type, kedas.Name = source.Scaler, "orders"
	scaler := metric.Reading{Series: []int64{12000}, Activity: metric.Inactive}
	checkSentences(t, map[string]Input{
		"Stays at 0: queue is at 3 and becomes active above its activationValue 5.5, which brings a replica.": of(
			metric.Reading{Series: []int64{3000}}, queue),
		"Stays at 0: the scaler of jobs reports that it is not active, and a replica comes once it is.":   of(scaler, jobs),
		"Stays at 0: the external scaler reports that it is not active, and a replica comes once it is.":  of(scaler, unnamed),
		"Stays at 0: the scaler of orders reports that it is not active, and a replica comes once it is.": of(scaler, kedas),
		"Stays at 0: no metric is active, and a replica comes once one is.": of(
			metric.Reading{Series: []int64{3000}, Activity: metric.Inactive}, queue, jobs),
	})
}

// TestFailureText: the sentence names the metric itself; what is left is the cause.
func TestFailureText(t *testing.T) {
	cpu := source.Spec{Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization}}
	queue := averageOf(source.External, "queue_length")
	rate := averageOf(source.PodEndpoint, "requests_total")
	rate.GivenName = "requests"
	const down = "none of 2 pods that are ready has a sample: pod web-0 at 10.0.0.1:9: connection refused"
	for name, tt := range map[string]struct {
		spec    source.Spec
		message string
		want    string
	}{
		"no samples": {cpu, "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from " +
			"resource metrics API", "metrics.k8s.io has no samples of the pods"},
		"a request": {cpu, "failed to get cpu utilization: missing request for cpu in container app of Pod a",
			"missing request for cpu in container app of Pod a"},
		"own": {rate, `metric "requests": unable to get pod endpoint metric requests_total: unable to fetch metrics from ` +
			"the pods: " + down, down},
		"no API": {queue, "unable to get external metric shop/queue_length/nil: unable to fetch metrics from external metrics " +
			"API: the server could not find the requested resource (get queue_length.external.metrics.k8s.io)",
			"the cluster has no API external.metrics.k8s.io, see kubectl get apiservices"},
	} {
		if got := FailureText(&tt.spec, tt.message); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestSharedPods: autoscalers that select the same pods are named.
func TestSharedPods(t *testing.T) {
	p := upTo(10, averageOf(source.Resource, "cpu"))
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: 3, Selector: podselector.Selector{
		Problem: podselector.Ambiguous,
		Message: "pods by selector app=shop are controlled by more than one HPA (e.g. [shop/canary shop/web])",
	}}}
	checkSentences(t, map[string]Input{
		"Stays at 3: pods by selector app=shop are controlled by more than one HPA (shop/canary, shop/web), and none of these " +
			"scales.": played(&p, []int{0}, o),
	})
}

// TestNoSampleOfAnyPod: a metric that fails for want of samples has the pods that have none.
func TestNoSampleOfAnyPod(t *testing.T) {
	p := upTo(10, averageOf(source.Resource, "cpu"))
	checkSentences(t, map[string]Input{
		"Stays at 2: CPU cannot be read (web-0 and web-1 have no sample).": played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 2}, Pods: readyPods(2), Readings: []metric.Reading{{Samples: samples(-1, -1)}},
		}),
	})
}
