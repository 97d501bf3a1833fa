package summary

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// played is the last of some decisions, which are carried out: one on each observation, so many seconds after noon.
func played(p *horizontal.Policy, seconds []int, all ...horizontal.Observation) Input {
	var s horizontal.State
	var d horizontal.Decision
	count := all[0].Target.SpecReplicas
	for i := range all {
		at := noon.Add(time.Duration(seconds[i]) * time.Second)
		all[i].Target.SpecReplicas, all[i].Target.StatusReplicas = count, count
		d, s = horizontal.Decide(at, p, s, &all[i])
		d = d.Clone()
		s = horizontal.Settle(s, horizontal.Outcome{At: at, Began: at})
		count = d.Desired
	}
	return Input{Decision: &d, State: &s, Pods: all[len(all)-1].Pods}
}

// readyPods are pods that have been ready for an hour.
func readyPods(n int) (pods []metric.Pod) {
	for i := range n {
		pods = append(pods, metric.Pod{
			Name: fmt.Sprintf("web-%d", i), Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			StartTime: noon.Add(-time.Hour), ReadyTransition: noon.Add(-time.Hour),
		})
	}
	return pods
}

// samples are the pods' values in milli-units. Below 0 there is none, and below -1 no container either.
func samples(values ...int64) (all []metric.Sample) {
	for _, v := range values {
		s := metric.Sample{Present: v >= 0, NoContainer: v < -1, Milli: max(0, v)}
		if v >= 0 {
			s.At, s.Window = noon, 15*time.Second
		}
		all = append(all, s)
	}
	return all
}

func checkSentences(t *testing.T, all map[string]Input) {
	t.Helper()
	for want, in := range all {
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestContainersThatPodsLack: how many pods do not have the container that the metric names. It is no missing sample.
func TestContainersThatPodsLack(t *testing.T) {
	of := func(utilization bool, set divergence.Set, values ...int64) Input {
		p := horizontal.Policy{
			MinReplicas: 1, MaxReplicas: 10, Divergences: set, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			Metrics: []source.Spec{{
				Type: source.ContainerResource, Name: "memory", Container: "app",
				Target: source.Target{Type: source.AverageValue, Milli: 1000},
			}},
		}
		r := metric.Reading{Samples: samples(values...)}
		if utilization {
			p.Metrics[0].Target = source.Target{Type: source.Utilization, Percent: 50}
			for _, v := range values {
				request := metric.Request{Milli: 2000}
				if v < -1 {
					request = metric.Request{Missing: metric.ContainerNotFound, Container: "app"}
				}
				r.Requests = append(r.Requests, request)
			}
		}
		n := int32(len(values))
		return played(&p, []int{0}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: n}, Pods: readyPods(len(values)), Readings: []metric.Reading{r},
		})
	}
	checkSentences(t, map[string]Input{
		"Scales from 3 to 4: memory of container app is at 100 % (target 50 %), but 1 of 3 pods has no container app; if all " +
			"3 used as much, it would ask for 6.": of(true, divergence.Default, 2000, 2000, -2),
		"Stays at 3: memory of container app is at 150 % of its target, but 2 of 3 pods have no container app; if all 3 used " +
			"as much, it would ask for 5.": of(false, divergence.Default, 1500, -2, -2),
		"Stays at 4: memory of container app is at 200 % of its target, but 1 pod has no sample and 1 of 4 pods has no " +
			"container app; if all 4 used as much, it would ask for 8.": of(false, divergence.Default, 2000, 2000, -1, -2),
		"Stays at 3: memory of container app is at 150 % of its target, but web-1 and web-2 have no sample; if all 3 used " +
			"as much, it would ask for 5.": of(false, divergence.Default, 1500, -1, -1),
		"Stays at 2: memory of container app cannot be read (none of 2 pods has a container app).": of(true,
			divergence.Default, -2, -2),
		"Stays at 1: memory of container app cannot be read (the only pod has no container app).": of(false,
			divergence.Default, -2),
		"Stays at 3: memory of container app cannot be read (1 of 3 pods has no container app).": of(true, divergence.None,
			2000, 2000, -2),
	})
}

// TestOtherCauses: that a pod has no container of that name is not the cause if the metric fails for another reason, and
// a pod that does not run yet is not counted twice.
func TestOtherCauses(t *testing.T) {
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 10, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		Metrics: []source.Spec{{
			Type: source.ContainerResource, Name: "memory", Container: "app",
			Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
	utilization := p
	utilization.Metrics = []source.Spec{p.Metrics[0]}
	utilization.Metrics[0].Target = source.Target{Type: source.Utilization, Percent: 50}
	pending := readyPods(3)
	pending[2].Phase, pending[2].Ready = metric.PhasePending, metric.ReadyFalse
	checkSentences(t, map[string]Input{
		"Stays at 2: memory of container app cannot be read (missing " +
			"request for memory in container app of Pod web-0).": played(
			&utilization, []int{0}, horizontal.Observation{
				Target: horizontal.Target{SpecReplicas: 2}, Pods: readyPods(2), Readings: []metric.Reading{{
					Samples: samples(2000, -2), Requests: []metric.Request{
						{Missing: metric.ContainerWithoutRequest, Container: "app"},
						{Missing: metric.ContainerNotFound, Container: "app"},
					},
				}},
			}),
		"Stays at 3: memory of container app is at 150 % of its target, but web-1 has no sample and web-2 is still " +
			"starting.": played(
			&p, []int{0}, horizontal.Observation{
				Target: horizontal.Target{SpecReplicas: 3}, Pods: pending,
				Readings: []metric.Reading{{Samples: samples(1500, -1, -2)}},
			}),
	})
}

// TestLastReplicaBesideAFailure: the last replica does not go at the end of the cooldown while a metric cannot be read,
// also where the sentence is made without the state.
func TestLastReplicaBesideAFailure(t *testing.T) {
	of := func(cpu metric.Reading) string {
		p := horizontal.Policy{
			MaxReplicas: 10, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: 5 * time.Minute}},
			Metrics: []source.Spec{
				{Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000}},
				{Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.AverageValue, Milli: 1000}},
			},
		}
		at := func(queue int64) horizontal.Observation {
			return horizontal.Observation{
				Target: horizontal.Target{SpecReplicas: 1}, Pods: readyPods(1),
				Readings: []metric.Reading{{Series: []int64{queue}}, cpu},
			}
		}
		in := played(&p, []int{0, 30}, at(1000), at(0))
		in.State = nil
		return Of(in).Text
	}
	if text := of(metric.Reading{Samples: samples(500)}); !strings.Contains(text, "the last replica goes at 12:05:30") {
		t.Errorf("with CPU: %s", text)
	}
	if text := of(metric.Reading{Error: "down"}); strings.Contains(text, "the last replica goes") {
		t.Errorf("without CPU: %s", text)
	}
}

// TestPodsThatDoNotCount: which they are and why.
func TestPodsThatDoNotCount(t *testing.T) {
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 10, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		Metrics: []source.Spec{{
			Type: source.Resource, Name: "memory", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
	of := func(pods []metric.Pod, values ...int64) Input {
		before := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 3}, Pods: readyPods(3),
			Readings: []metric.Reading{{Samples: samples(1000, 1000, 1000)}},
		}
		return played(&p, []int{0, 60}, before, horizontal.Observation{
			Pods: pods, Readings: []metric.Reading{{Samples: samples(values...)}},
		})
	}
	starting := readyPods(3)
	starting[2].Phase, starting[2].Ready = metric.PhasePending, metric.ReadyFalse
	newer := readyPods(3)
	newer[2].StartTime = noon.Add(-10 * time.Second)
	unready := readyPods(3)
	unready[0].Ready, unready[1].Ready = metric.ReadyFalse, metric.ReadyFalse
	queue := p
	queue.Metrics = []source.Spec{{
		Type: source.External, Name: "queue", Target: source.Target{Type: source.Value, Milli: 1000},
	}}
	checkSentences(t, map[string]Input{
		"Scales from 3 to 1: memory is at 40 % of its target, but web-2 is still starting and does not count.": of(
			starting, 400, 400, -1),
		"Scales from 3 to 4: memory is at 200 % of its target, but web-2 has no sample yet; if all 3 used as much, it would " +
			"ask for 6.": of(newer, 2000, 2000, -1),
		"Scales from 3 to 4: memory is at 200 % of its target, but web-2 has no sample; if all 3 used as much, it would ask " +
			"for 6.": of(readyPods(3), 2000, 2000, -1),
		"Stays at 3: memory cannot be read (web-2 is still starting).": of(starting[2:], -1),
		"Scales from 3 to 5: queue is at 500 % of its target, but only 1 of 3 replicas is ready.": played(
			&queue, []int{0}, horizontal.Observation{
				Target: horizontal.Target{SpecReplicas: 3}, Pods: unready, Readings: []metric.Reading{{Series: []int64{5000}}},
			}),
	})
}

func daily(t *testing.T, minute int) schedules.Cron {
	t.Helper()
	at, err := cron.ParseStandard(fmt.Sprintf("%d 12 * * *", minute))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestSchedules: which of several bounds applies and why, and where a ramp is, goes, and by when.
func TestSchedules(t *testing.T) {
	minutes := func(m int) time.Duration { return time.Duration(m) * time.Minute }
	sale := schedules.Schedule{Name: "sale", Start: daily(t, 0), Duration: minutes(10), MinReplicas: 12}
	budget := schedules.Schedule{Name: "budget", Start: daily(t, 0), Duration: minutes(20), MaxReplicas: 6}
	day := schedules.Schedule{Name: "day", Start: daily(t, 0), Duration: minutes(30), MinReplicas: 4}
	rise := schedules.Schedule{Name: "rise", Start: daily(t, 5), Duration: minutes(9), MinReplicas: 6, Ramp: minutes(4)}
	fall := schedules.Schedule{Name: "fall", Start: daily(t, 2), Duration: minutes(60), MaxReplicas: 4, Ramp: minutes(1)}
	of := func(current int32, queue int64, seconds int, all ...schedules.Schedule) Input {
		p := horizontal.Policy{
			MinReplicas: 2, MaxReplicas: 10, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			Metrics: []source.Spec{{
				Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
			}},
			WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Schedules: all},
		}
		return played(&p, []int{seconds}, horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: current}, Readings: []metric.Reading{{Series: []int64{1000 * queue}}},
		})
	}
	onlyDown := of(9, 20, 60, schedules.Schedule{Name: "night", Start: daily(t, 1), Duration: minutes(2), MaxReplicas: 4})
	onlyDown.Decision.Policy.Behavior = &behavior.Behavior{Down: behavior.Rules{Select: behavior.SelectDisabled}}
	disabled := played(onlyDown.Decision.Policy, []int{60}, horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: 9}, Readings: []metric.Reading{{Series: []int64{20000}}},
	})
	checkSentences(t, map[string]Input{
		"Scales from 9 to 6: maxReplicas of schedule \"budget\" is 6 until 12:20:00, which wins over minReplicas 12 of " +
			"schedule \"sale\"; queue asks for 9; schedule \"sale\" ends at 12:10:00.": of(9, 9, 0, sale, budget),
		"Scales from 3 to 6: maxReplicas of schedule \"budget\" is 6 until 12:20:00, which wins over minReplicas 12 of " +
			"schedule \"sale\"; queue asks for 3; schedule \"sale\" ends at 12:10:00.": of(3, 3, 0, sale, budget),
		"Stays at 6: queue is at 100 % of its target; schedule \"sale\" ends at 12:10:00; maxReplicas of schedule \"budget\" " +
			"is 6 until 12:20:00, which wins over minReplicas 12 of schedule \"sale\".": of(6, 6, 0, sale, budget),
		"Scales from 4 to 10: minReplicas of schedule \"sale\" is 10 until 12:10:00 (higher than 4 of schedule \"day\"); " +
			"queue asks for 1.": of(4, 1, 0, day, schedules.Schedule{
			Name: "sale", Start: daily(t, 0), Duration: minutes(10), MinReplicas: 10,
		}),
		"Asks for 20, limited to 10 by maxReplicas (as in schedule \"cap\"); 2.0 times the load that 10 pods take at the " +
			"target.": of(10, 20, 0, schedules.Schedule{
			Name: "cap", Start: daily(t, 0), Duration: minutes(10), MaxReplicas: 10,
		}),
		"Scales from 2 to 3: minReplicas of schedule \"rise\" is 3 until 12:02:00, rising to 6 by 12:05:00; queue asks for " +
			"1.": of(2, 1, 60, rise),
		"Scales from 5 to 6: minReplicas of schedule \"rise\" is 6, reached by rampSeconds 240 before it starts at 12:05:00; " +
			"queue asks for 1.": of(5, 1, 240, rise),
		"Stays at 4: queue is at 100 % of its target; schedule \"rise\" ramps to minReplicas 6 by 12:05:00, with " +
			"minReplicas 3 until 12:02:00.": of(4, 4, 60, rise),
		"Stays at 2: queue is at 100 % of its target; schedule \"rise\" ramps to minReplicas 6 from 12:01:00 to 12:05:00.": of(
			2, 2, 0, rise),
		"Scales from 9 to 8: maxReplicas of schedule \"fall\" is 8 until 12:01:20, falling to 4 by 12:02:00; queue asks for " +
			"9.": of(9, 9, 70, fall),
		"Asks for 20, limited to 8 by maxReplicas of schedule \"fall\" until 12:01:20, falling to 4 by 12:02:00; 2.5 times " +
			"the load that 8 pods take at the target.": of(8, 20, 70, fall),
		"Stays at 9: maxReplicas of schedule \"night\" is 4 until 12:03:00, but selectPolicy of scaleDown is Disabled; queue " +
			"asks for 20.": disabled,
	})
}

// TestSurges: the count of a surge has what the surge window saw, as long as that is known.
func TestSurges(t *testing.T) {
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 60, Divergences: divergence.Default, Surge: surge.Defaults(),
		Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, DownscaleStabilization: 5 * time.Minute,
		Metrics: []source.Spec{{
			Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.AverageValue, Milli: 500},
		}},
	}
	of := func(seconds, pods int, milli, last int64) horizontal.Observation {
		o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: int32(pods)}, Pods: readyPods(pods)}
		r, at := metric.Reading{}, noon.Add(time.Duration(seconds)*time.Second)
		for range pods {
			r.Samples = append(r.Samples, metric.Sample{Present: true, Milli: milli, At: at, Window: 15 * time.Second})
			var recent metric.Recent
			for i := range 3 {
				recent[i] = metric.Sample{
					Present: true, Milli: last, At: at.Add(-time.Duration(i) * time.Second), Window: time.Second,
				}
			}
			r.Recent = append(r.Recent, recent)
		}
		o.Readings = []metric.Reading{r}
		return o
	}
	free := p
	free.Behavior = &behavior.Behavior{Up: behavior.Rules{Policies: []behavior.RatePolicy{
		{Type: behavior.RatePods, Value: 100, Period: time.Minute},
	}}}
	forgotten := played(&p, []int{0, 1}, of(0, 4, 500, 5000), of(1, 8, 250, 250))
	forgotten.State.Surges = surge.History{}
	two := played(&p, []int{0}, of(0, 2, 500, 5000))
	beside := played(&free, []int{0}, of(0, 4, 500, 5000))
	beside.Decision.Surge.Base, beside.Decision.Surge.Adjusted = 10, 4
	full := p
	full.MaxReplicas, full.CPUInitializationPeriod = 4, 5*time.Minute
	started := of(0, 4, 500, 5000)
	for i := range started.Pods {
		started.Pods[i].StartTime, started.Pods[i].ReadyTransition = noon.Add(-2*time.Minute), noon.Add(-time.Minute)
	}
	checkSentences(t, map[string]Input{
		"Scales from 4 to 40: a surge: CPU was at 1000 % of its target or more for 2 s on 4 pods, which needs 40 pods.": played(
			&free, []int{0}, of(0, 4, 500, 5000)),
		"Scales from 4 to 40: a surge: CPU was at 1000 % of its target or more for 2 s on 4 pods, and 10 pods at 400 % of its " +
			"target have the load of 40.": beside,
		"Scales from 4 to 8: a surge (CPU at 1000 % of its target or more for 2 s) asks for 40, and without behavior a " +
			"decision doubles the count at most.": played(&p, []int{0}, of(0, 4, 500, 5000)),
		"Asks for 40, limited to 4 by maxReplicas; a surge: CPU was at 1000 % of its target or more for 2 s on 4 pods, " +
			"which needs 40 pods.": played(&full, []int{0}, of(0, 4, 500, 5000)),
		"Asks for 40, limited to 4 by maxReplicas; a surge: CPU was at 1000 % of its target or more for 2 s on 4 pods, " +
			"which needs 40 pods, a part of which may be the start of the pods: all 4 have started since 11:58:00.": played(&full,
			[]int{0}, started),
		"Scales from 2 to 3: a surge: CPU was at 1000 % of its target or more for 2 s on 2 pods, which needs 20 pods; it asks " +
			"for 3, as fewer than 3 pods show it.": two,
		"Held at 8 until 12:00:20, then 4: CPU asks for 4, but a surge asked for 8 at 12:00:00, for CPU at 1000 % of its " +
			"target or more, and surges are held for 20 s.": played(&p, []int{0, 1}, of(0, 4, 500, 5000), of(1, 8, 250, 250)),
		"Held at 8 until 12:00:20, then 4: CPU asks for 4, but a surge asked for 8 at 12:00:00, and surges are held for " +
			"20 s.": forgotten,
	})
}

// TestNoReplicas: where 0 or less is asked for, and no load asks for it, the sentence has the cause.
func TestNoReplicas(t *testing.T) {
	of := func(s source.Spec, set divergence.Set, pods []metric.Pod, before, value int64) Input {
		s.Type, s.Name = source.External, "queue"
		p := horizontal.Policy{
			MinReplicas: 1, MaxReplicas: 10, Divergences: set, Metrics: []source.Spec{s},
			Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		}
		if s.ActivationMilli > 0 {
			p.MinReplicas, p.DownscaleStabilization = 0, 5*time.Minute
			p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: time.Minute}}
		}
		first := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 3}, Pods: readyPods(3), Readings: []metric.Reading{{Series: []int64{before}}},
		}
		return played(&p, []int{0, 60}, first, horizontal.Observation{
			Pods: pods, Readings: []metric.Reading{{Series: []int64{value}}},
		})
	}
	whole := source.Spec{Target: source.Target{Type: source.Value, Milli: 1000}}
	each := source.Spec{Target: source.Target{Type: source.AverageValue, Milli: 1000}}
	inactive := each
	inactive.ActivationMilli = 5000
	unready := readyPods(3)
	for i := range unready {
		unready[i].Ready = metric.ReadyFalse
	}
	checkSentences(t, map[string]Input{
		"Scales from 3 to 1: minReplicas is 1, and queue is at 500 % of its target, but no pod is ready, which comes to 0.": of(
			whole, divergence.None, unready, 1000, 5000),
		"Scales from 3 to 1: minReplicas is 1, and the value of queue is negative and asks for -1.": of(whole, divergence.None,
			readyPods(3), 1000, -500),
		"Scales from 3 to 1: minReplicas is 1, and queue asks for 0.": of(each, divergence.None, readyPods(3), 3000, 0),
		"Held at 3 until 12:05:00, then 1: no metric is active, but 3 was asked for at 12:00:00, and scaleDown takes the " +
			"highest of the last 5 min.": of(inactive, divergence.Default, readyPods(3), 3000, 3000),
	})
}

// TestLimitedSince: since when more is asked for than maxReplicas, where the status has it.
func TestLimitedSince(t *testing.T) {
	known := decided(remembering(false), 10, 14)
	known.LimitedSince = noon.Add(-168 * time.Minute)
	unknown := known
	unknown.State = nil
	rising := decided(remembering(false), 9, 14)
	rising.LimitedSince = noon.Add(-time.Hour)
	checkSentences(t, map[string]Input{
		"Asks for 14, limited to 10 by maxReplicas since 09:12:00; 40 % more load than 10 pods take at the target.": known,
		"Scales from 9 to 10, limited by maxReplicas: queue asks for 14; 40 % more load than 10 pods take at the " +
			"target.": rising,
	})
	if got, want := Of(unknown).Text, Of(known).Text; got != want {
		t.Errorf("without the history %s, want %s", got, want)
	}
}

// TestCooldownEnd: a change that comes when the cooldown ends is announced.
func TestCooldownEnd(t *testing.T) {
	p := horizontal.Policy{
		MaxReplicas: 10, Divergences: divergence.Default, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
		Behavior: &behavior.Behavior{Down: behavior.Rules{Policies: []behavior.RatePolicy{
			{Type: behavior.RatePods, Value: 2, Period: time.Minute},
		}}},
		WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: time.Minute}},
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
	of := func(seconds ...int) Input {
		all := []horizontal.Observation{{
			Target: horizontal.Target{SpecReplicas: 5}, Readings: []metric.Reading{{Series: []int64{5000}}},
		}}
		for range seconds[1:] {
			all = append(all, horizontal.Observation{Readings: []metric.Reading{{Series: []int64{0}}}})
		}
		return played(&p, seconds, all...)
	}
	checkSentences(t, map[string]Input{
		"Scales from 5 to 3: queue asks for 0, but the policies of scaleDown permit 3; then 1 after 12:01:15.": of(0, 15),
		"Scales from 3 to 1: no metric is active, and the last replica goes next.":                             of(0, 15, 76),
		"Scales from 1 to 0: no metric has been active for the cooldown period.":                               of(0, 15, 76, 77),
	})
	for _, in := range []Input{of(0, 15), of(0, 15, 76)} {
		if s := Of(in); s.Next == nil {
			t.Errorf("nothing is announced by %s", s.Text)
		}
	}
	p.Metrics = nil
	p.WorkloadAutoscaler.Schedules = []schedules.Schedule{{
		Name: "lunch", Start: daily(t, 0), Duration: time.Minute, MinReplicas: 2,
	}}
	none := horizontal.Observation{Target: horizontal.Target{SpecReplicas: 2}}
	checkSentences(t, map[string]Input{
		"Scales from 2 to 1: it has no metrics, and the last replica goes at 12:02:00.": played(&p, []int{0, 60}, none,
			horizontal.Observation{}),
	})
}
