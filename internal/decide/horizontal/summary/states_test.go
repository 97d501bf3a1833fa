package summary

import (
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
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

// TestRefusalNamesTheModeOfTheSpec: an object that may not act is decided as in Preview, which is not its mode.
func TestRefusalNamesTheModeOfTheSpec(t *testing.T) {
	for m, want := range map[mode.Mode]string{
		mode.Active:  "Stays at 2: HPA shop/web scales it; it would scale to 4 now.",
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
		"Stays at 2: CPU cannot be read (there are no pods).": {},
		"Stays at 2: CPU cannot be read (the only pod is Pending).": {Pods: []metric.Pod{
			{Name: "web-0", Phase: metric.PhasePending},
		}},
		"Stays at 2: CPU cannot be read (resource metrics API: no such server).": {Pods: append(readyPods(1), metric.Pod{Name: "web-1", Phase: metric.PhasePending})},
	} {
		p := queueOf(mode.Active)
		p.Metrics = []source.Spec{{
			Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
		}}
		o.Target.SpecReplicas = 2
		if o.Readings = []metric.Reading{{Error: "no such server"}}; len(o.Pods) == 0 {
			o.Readings[0].Error = ""
		}
		in := played(&p, []int{0}, o)
		in.Decision.Target.StatusReplicas = int32(len(o.Pods))
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestMetricsWithoutAName: only an external scaler is called one.
func TestMetricsWithoutAName(t *testing.T) {
	for kind, want := range map[source.Type]string{
		source.ExternalScaler: "the external scaler", "resource": "the metric",
	} {
		if got := MetricName(&source.Spec{Type: kind}); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}

// TestCountAtTheSyncPeriod: a count is lowered once in a sync period. A count is announced only if it is the one that
// such a decision comes to, whenever it is made after the window.
func TestCountAtTheSyncPeriod(t *testing.T) {
	p := queueOf(mode.Active)
	p.DownscaleStabilization = 5 * time.Minute
	falling := []horizontal.Observation{queued(7, 70), queued(7, 60), queued(7, 50), queued(7, 20)}
	const held = ": queue asks for 2, but 7 was asked for at 12:00:00, and scaleDown takes the highest of the last 5 min."
	for want, tt := range map[string]struct {
		seconds []int
		period  time.Duration
	}{
		"Held at 7 until 12:05:00, then between 2 and 6" + held: {[]int{0, 2, 6, 10}, 0},
		"Held at 7 until 12:05:00, then 6" + held:               {[]int{0, 30, 40, 50}, 0},
		"Held at 7 until 12:05:00, then 5 or 6" + held:          {[]int{0, 30, 70, 90}, time.Minute},
	} {
		in := played(&p, tt.seconds, falling...)
		in.SyncPeriod = tt.period
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestLastHolding: the sentence names the recommendation of which the end changes the count, too.
func TestLastHolding(t *testing.T) {
	p := queueOf(mode.Active)
	p.DownscaleStabilization, p.Tolerance = 5*time.Minute, metric.Tolerance{}
	checkSentences(t, map[string]Input{
		"Held at 10 until 12:05:29, then 9: queue asks for 6, but 26 was asked for at 12:00:00 and 10 at 12:00:29, and " +
			"the highest of the last 5 min counts, limited to 10 by maxReplicas.": played(&p, []int{0, 29, 100, 120}, queued(10, 260),
			queued(10, 100), queued(10, 90), queued(10, 60)),
	})
}

// TestWindowBehindARate: a window is not named if the metrics ask for more than the count without it.
func TestWindowBehindARate(t *testing.T) {
	p := queueOf(mode.Active)
	p.DownscaleStabilization, p.MaxReplicas = 5*time.Minute, 100
	checkSentences(t, map[string]Input{
		"Scales from 4 to 8: queue asks for 60, and without behavior a decision doubles the count at most; then 16 with " +
			"the next decision.": played(&p, []int{0, 15}, queued(2, 900), queued(4, 600)),
	})
}

// TestPodsOfATarget: pods that do not exist share the load once they do, and pods of another workload count.
func TestPodsOfATarget(t *testing.T) {
	p := queueOf(mode.Active)
	p.Metrics = []source.Spec{{
		Type: source.Resource, Name: "memory", Target: source.Target{Type: source.AverageValue, Milli: 1000},
	}}
	of := func(replicas int32, values ...int64) Input {
		before := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: replicas}, Pods: readyPods(1),
			Readings: []metric.Reading{{Samples: samples(1000)}},
		}
		return played(&p, []int{0, 60}, before, horizontal.Observation{
			Pods: readyPods(len(values)), Readings: []metric.Reading{{Samples: samples(values...)}},
		})
	}
	startedBefore := func(age time.Duration) Input {
		in := of(3, 400, 400, -1)
		in.Pods[2].StartTime = in.Decision.At.Add(-age)
		return in
	}
	old, recent := of(7, 3000, 3000, 3000), of(7, 3000, 3000, 3000)
	old.State.Count = history.Count{Replicas: 7, IsKnown: true, ChangedAt: noon.Add(-time.Minute)}
	recent.State.Count = history.Count{Replicas: 7, IsKnown: true, ChangedAt: noon.Add(30 * time.Second)}
	checkSentences(t, map[string]Input{
		"Scales from 7 to 9: memory is at 300 % of its target, but there are 3 pods for 7 replicas.": recent,
		"Scales from 7 to 9: memory is at 300 % of its target, but there are 3 pods for 7 replicas (kubectl get events may " +
			"say why).": old,
		"Stays at 2: memory is at 100 % of its target; there are 2 replicas, but 5 pods count: the selector may match " +
			"those of another workload.": of(2, 1000, 1000, 1000, 1000, 1000),
		"Scales from 3 to 2: memory is at 40 % of its target; web-2 has no sample.":     of(3, 400, 400, -1),
		"Scales from 3 to 2: memory is at 40 % of its target; web-2 has no sample yet.": startedBefore(time.Minute),
		"Scales from 3 to 2: memory is at 40 % of its target.":                          startedBefore(time.Minute - time.Second),
	})
}

// TestTwoUnreadable: if two metrics cannot be read, both are named.
func TestTwoUnreadable(t *testing.T) {
	p := queueOf(mode.Active)
	jobs := p.Metrics[0]
	jobs.Name = "jobs"
	p.Metrics = append(p.Metrics, jobs)
	down := metric.Reading{Error: "down"}
	o := queued(2, 0)
	o.Readings = []metric.Reading{down, down}
	got := Of(played(&p, []int{0}, o)).Text
	if want := "Stays at 2: queue cannot be read, nor can jobs (external metrics API: down)"; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestShortSelectors: upstream's messages print a selector as a value of Go.
func TestShortSelectors(t *testing.T) {
	const begin, end = "unable to get external metric shop/queue/", ": negative value: -5000m"
	const none = ",MatchExpressions:[]LabelSelectorRequirement{},}"
	for selector, want := range map[string]string{
		"&LabelSelector{MatchLabels:map[string]string{service: jobs,}" + none:           "service=jobs",
		"&LabelSelector{MatchLabels:map[string]string{app: a,example.com/x: b,}" + none: "app=a,example.com/x=b",
		"nil": "nil",
	} {
		if got := WithShortSelectors(begin + selector + end); got != begin+want+end {
			t.Errorf("got  %s\nwant %s", got, begin+want+end)
		}
	}
}

// TestStatesWithoutMetrics has what people see who scale by hand, by schedules, or what cannot be scaled.
func TestStatesWithoutMetrics(t *testing.T) {
	paused := queueOf(mode.Paused)
	five := int32(5)
	paused.WorkloadAutoscaler.PausedReplicas = &five
	at, err := cron.ParseStandard("0 17 * * *")
	if err != nil {
		t.Fatal(err)
	}
	scheduled := queueOf(mode.Active)
	scheduled.Metrics = nil
	scheduled.WorkloadAutoscaler.Schedules = []schedules.Schedule{{
		Name: "evening", Start: at, Duration: time.Hour, MinReplicas: 4,
	}}
	daemon := queueOf(mode.Active)
	unscalable := queued(0, 0)
	unscalable.Target.Error = "the server could not find the requested resource"
	unscaled := played(&daemon, []int{0}, unscalable)
	daemonSet := unscaled
	daemonSet.TargetKind = "DaemonSet"
	checkSentences(t, map[string]Input{
		"Stays at 5: the mode is Paused, with paused.replicas 5.": played(&paused, []int{0}, queued(5, 50)),
		"Stays at 1: it has no metrics, and minReplicas is 1; schedule \"evening\" starts at 17:00:00 with minReplicas " +
			"4.": played(&scheduled, []int{0}, horizontal.Observation{Target: horizontal.Target{SpecReplicas: 1}}),
		"Does nothing: the kind of its target cannot be scaled.":                 unscaled,
		"Does nothing: its target is of kind DaemonSet, which cannot be scaled.": daemonSet,
	})
}
