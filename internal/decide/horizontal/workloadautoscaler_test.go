package horizontal_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

func hasEvent(events []statusreport.Event, reason string) bool {
	return slices.ContainsFunc(events, func(e statusreport.Event) bool { return e.Reason == reason })
}

func starting(t testing.TB, expression string) schedules.Cron {
	start, err := cron.ParseStandard(expression)
	if err != nil {
		t.Fatal(err)
	}
	return start
}

// extend turns the policy into a WorkloadAutoscaler's.
func (m maker) extend(p *horizontal.Policy) {
	w := &horizontal.WorkloadAutoscaler{Mode: mode.Mode(m.pick("mode", 0, 2))}
	if m.chance("a paused count", 2) {
		n := int32(m.pick("paused", 0, 30))
		w.PausedReplicas = &n
	}
	w.Zero.CooldownPeriod = m.duration("cooldown", 5*time.Minute)
	w.Zero.InitialCooldownPeriod = m.duration("initial cooldown", 5*time.Minute)
	for i := range m.pick("schedules", 0, 3) {
		start, err := cron.ParseStandard(fmt.Sprintf("%d */%d * * *", m.pick("minute", 0, 59), m.pick("hours", 1, 3)))
		if err != nil {
			panic(err)
		}
		w.Schedules = append(w.Schedules, schedules.Schedule{
			Name: fmt.Sprint(i), Start: start, Duration: time.Minute + m.duration("in force", 2*time.Hour),
			MinReplicas: int32(m.pick("schedule's min", 0, 30)), MaxReplicas: int32(m.pick("schedule's max", 0, 30)),
			Ramp: m.duration("ramp", time.Hour),
		})
	}
	for i := range p.Metrics {
		if m.chance("a fallback", 2) {
			p.Metrics[i].Fallback = source.Fallback{
				FailureDuration: time.Second + m.duration("fails for", time.Minute), Replicas: int32(m.pick("fallback", 0, 30)),
				Policy: source.FallbackPolicy(m.pick("policy of the fallback", 0, 3)),
			}
		}
		p.Metrics[i].ActivationMilli = m.pick("activation", 0, 500)
	}
	p.WorkloadAutoscaler = w
}

// steps plays some decisions on a WorkloadAutoscaler and passes each to check. Each has the earlier ones as its
// history.
func steps(t *rapid.T, check func(s *situation, d *horizontal.Decision)) {
	stepsOf(t, func(*horizontal.Policy) {}, check)
}

// stepsOf runs steps with changes of the policy.
func stepsOf(t *rapid.T, change func(*horizontal.Policy), check func(s *situation, d *horizontal.Decision)) {
	m := making(t)
	s := m.situation()
	m.extend(&s.policy)
	change(&s.policy)
	s.state.IdleSince = noon.Add(-m.duration("idle for", 10*time.Minute))
	current := s.observation.Target.SpecReplicas
	for range 5 {
		s.now = s.now.Add(m.duration("later", 5*time.Minute))
		s.observation = m.observation(&s.policy)
		if m.chance("the same count", 2) {
			s.observation.Target.SpecReplicas = current
		}
		s.observation.CreatedAt = noon.Add(-m.duration("age of the object", 10*time.Minute))
		s.observation.Trigger = trigger.Kind(m.pick("trigger", 0, 2))
		var d horizontal.Decision
		d, s.state = horizontal.Decide(s.now, &s.policy, s.state, &s.observation)
		check(&s, &d)
		s.state = horizontal.Settle(s.state, horizontal.Outcome{At: s.now})
		current = d.Desired
	}
}

// TestScheduleWithinMax: schedules never lead to a write above the object's max. A write above the lowest max of the
// schedules in force only lowers the count towards it. In mode Paused the user sets the count.
func TestScheduleWithinMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps(t, func(s *situation, d *horizontal.Decision) {
			if d.Bounds.MaxReplicas > s.policy.MaxReplicas || d.Bounds.MinReplicas > d.Bounds.MaxReplicas {
				t.Fatalf("bounds %v of an object with max %d", d.Bounds, s.policy.MaxReplicas)
			}
			most := d.Bounds.MaxReplicas
			if s.policy.Behavior != nil && d.ActiveDesired < d.Current {
				most = s.policy.MaxReplicas
			}
			if d.ActiveDesired != d.Current && d.ActiveDesired > most {
				t.Fatalf("to %d, max is %d", d.ActiveDesired, most)
			}
		})
	})
}

// TestFallbackNeverLowersBelowMetrics: only a max lowers the count below the proposal of a computed metric, and the
// count does not fall while a metric fails without an active fallback.
func TestFallbackNeverLowersBelowMetrics(t *testing.T) {
	fell := 0
	check := func(t *rapid.T) {
		m, p := making(t), policy(1, 20)
		p.Behavior, p.WorkloadAutoscaler = rates(unlimited(), unlimited()), &horizontal.WorkloadAutoscaler{}
		p.Metrics = []source.Spec{queue(), queue(), queue()}
		down := make([]bool, len(p.Metrics))
		for i := range p.Metrics {
			p.Metrics[i].Name, down[i] = fmt.Sprint(i), m.chance("down", 3)
			if m.chance("a fallback", 2) {
				p.Metrics[i].Fallback = source.Fallback{
					FailureDuration: time.Minute, Replicas: int32(m.pick("fallback", 1, 20)),
					Policy: source.FallbackPolicy(m.pick("policy of the fallback", 0, 3)),
				}
			}
		}
		var s horizontal.State
		now := noon
		for range 6 {
			now = now.Add(m.duration("later", 2*time.Minute))
			o := see(int32(m.pick("current", 1, 20)))
			for i := range p.Metrics {
				reading := length(int32(m.pick("length", 0, 20)))
				switch {
				case down[i]:
					reading = broken()
				case m.chance("awaited", 8):
					reading = metric.Reading{Pending: true}
				}
				o.Readings = append(o.Readings, reading)
			}
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			if checkFallback(t, &d) && len(d.Fallbacks.Active) > 0 {
				fell++
			}
			s = horizontal.Settle(s, horizontal.Outcome{At: d.At})
		}
	}
	// Few of the random inputs lower a count with an active fallback.
	for i := 0; i < 10 && fell == 0; i++ {
		rapid.Check(t, check)
	}
	if fell == 0 {
		t.Error("no count fell with an active fallback: that proves nothing")
	}
}

// checkFallback reports whether the count falls.
func checkFallback(t *rapid.T, d *horizontal.Decision) (falls bool) {
	if d.ActiveDesired >= d.Current {
		return false
	}
	for _, p := range d.Proposals(nil) {
		if d.ActiveDesired < min(p.Replicas, d.Bounds.MaxReplicas) {
			t.Fatalf("from %d to %d, though %v asks for %d", d.Current, d.ActiveDesired, p.Source, p.Replicas)
		}
	}
	if d.Failed > d.Fallbacks.Failed || d.Pending > 0 {
		t.Fatalf("from %d to %d, though a metric is missing", d.Current, d.ActiveDesired)
	}
	return true
}

// TestModesHold: mode Preview writes no count, mode Paused only paused.replicas.
func TestModesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps(t, func(s *situation, d *horizontal.Decision) {
			w := s.policy.WorkloadAutoscaler
			switch {
			case w.Mode == mode.Preview && (d.Rescale || s.state.Pending != nil):
				t.Fatalf("Preview writes %d", d.Desired)
			case w.Mode == mode.Paused && d.Desired != d.Current && (w.PausedReplicas == nil ||
				d.Desired != min(*w.PausedReplicas, s.policy.MaxReplicas)):
				t.Fatalf("Paused goes from %d to %d", d.Current, d.Desired)
			case w.Mode == mode.Paused && d.Rescale != (d.Desired != d.Current):
				t.Fatalf("Paused from %d to %d: rescale is %v", d.Current, d.Desired, d.Rescale)
			}
		})
	})
}

// TestZeroNeverOnAGuess: the last replica is removed only if every metric was read or is in its fallback, all have
// arrived, none is active, min is zero and the cooldown period is over.
func TestZeroNeverOnAGuess(t *testing.T) {
	reached := 0
	rapid.Check(t, func(t *rapid.T) {
		m := making(t)
		p := policy(0, 10)
		m.extend(&p)
		p.Behavior, p.WorkloadAutoscaler.Mode = rates(unlimited(), unlimited()), mode.Active
		p.Metrics = []source.Spec{queue(), queue()}
		for i := range p.Metrics {
			p.Metrics[i].Name, p.Metrics[i].ActivationMilli = fmt.Sprint(i), m.pick("activation", 0, 2000)
		}
		if m.chance("a fallback", 2) {
			p.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: int32(m.pick("fallback", 0, 1))}
		}
		now, current, active := noon, int32(1), noon
		var s horizontal.State
		for range 12 {
			now = now.Add(m.duration("later", 2*time.Minute))
			o := see(current)
			for range p.Metrics {
				o.Readings = append(o.Readings, []metric.Reading{
					length(0), length(0), length(0), length(0), length(2), broken(), {Pending: true},
				}[m.pick("reading", 0, 6)])
			}
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			checkZero(t, &d, &p, now.Sub(active))
			if d.Zero.IsActive || d.Bounds.MinReplicas > 0 {
				active = now
			}
			if d.Current > 0 && d.Desired == 0 {
				reached++
			}
			s, current = horizontal.Settle(s, horizontal.Outcome{At: now}), d.Desired
		}
	})
	if reached == 0 {
		t.Error("zero was never reached: that proves nothing")
	}
}

// TestZeroFromOneAlone: the limits bring the count down to one, and the cooldown from there to zero. Only a user's
// pausedReplicas leads from several replicas to none.
func TestZeroFromOneAlone(t *testing.T) {
	fell := 0
	slowly := func(p *horizontal.Policy) {
		p.MinReplicas, p.Metrics, p.WorkloadAutoscaler.Schedules = 0, []source.Spec{queue()}, nil
		p.Behavior = rates(unlimited(), unlimited())
		p.Behavior.Down.Policies = []behavior.RatePolicy{{Type: behavior.RatePods, Value: 2, Period: time.Minute}}
	}
	rapid.Check(t, func(t *rapid.T) {
		stepsOf(t, slowly, func(_ *situation, d *horizontal.Decision) {
			if d.Current <= 1 || d.ActiveDesired >= d.Current {
				return
			}
			if d.ActiveDesired == 0 {
				t.Fatalf("from %d to none: %+v", d.Current, d)
			}
			if d.Zero.IsPossible && d.Limited.Rated {
				fell++
				if least := min(d.Limited.RateLimit, d.Current); d.ActiveDesired < least {
					t.Fatalf("from %d to %d, though the rate permits %d", d.Current, d.ActiveDesired, least)
				}
			}
		})
	})
	if fell == 0 {
		t.Error("no count fell by a rate: that proves nothing")
	}
}

// TestIdleMetricsProposeNone: an inactive metric proposes no replicas after the cooldown, in the decision as in status.
// Before that, and while it is active, it proposes its own count.
func TestIdleMetricsProposeNone(t *testing.T) {
	p := policy(0, 10)
	p.Metrics = []source.Spec{queue()}
	p.Metrics[0].ActivationMilli = 5000
	p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: time.Minute}}
	var s horizontal.State
	for i, step := range []struct {
		at            time.Duration
		current       int32
		length        int32
		want, desired int32
	}{{0, 4, 4, 4, 4}, {59 * time.Second, 4, 4, 4, 4}, {time.Minute, 4, 4, 0, 4}, {time.Hour, 4, 4, 0, 1},
		{2 * time.Hour, 1, 4, 0, 0}, {3 * time.Hour, 0, 4, 0, 0}, {4 * time.Hour, 0, 6, 6, 4}} {
		o := see(step.current, length(step.length))
		var d horizontal.Decision
		d, s = horizontal.Decide(noon.Add(step.at), &p, s, &o)
		want := []proposal.Proposal{{Source: proposal.Metric, Replicas: step.want}}
		if got := d.Proposals(nil); !slices.Equal(got, want) || d.Desired != step.desired {
			t.Errorf("step %d: %d replicas, proposals %+v, want %d and %+v", i, d.Desired, got, step.desired, want)
		}
		s = horizontal.Settle(s, horizontal.Outcome{At: d.At})
	}
}

func checkZero(t *rapid.T, d *horizontal.Decision, p *horizontal.Policy, idle time.Duration) {
	if d.Current == 0 || d.Desired > 0 {
		return
	}
	if d.Failed > d.Fallbacks.Failed || d.Pending > 0 || d.Bounds.MinReplicas > 0 ||
		idle < p.WorkloadAutoscaler.Zero.CooldownPeriod {
		t.Fatalf("from %d to zero after %v: %+v", d.Current, idle, d)
	}
	for i, r := range d.Metrics {
		if r.Failure == nil && r.Total > p.Metrics[i].ActivationMilli {
			t.Fatalf("metric %d is active with %d", i, r.Total)
		}
	}
}

// TestPlainWorkloadAutoscaler: a WorkloadAutoscaler with only an HPA's spec has the HPA's decisions and history. At
// zero the two differ on purpose.
func TestPlainWorkloadAutoscaler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := making(t)
		m.isHPA = true
		s := m.situation()
		s.policy.MinReplicas = max(1, s.policy.MinReplicas)
		s.policy.MaxReplicas = max(s.policy.MinReplicas, s.policy.MaxReplicas)
		s.observation.ScaledToZero = false
		want, before := s.decide()
		s.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
		got, after := s.decide()
		if want.Desired != got.Desired || want.Rescale != got.Rescale || want.Branch != got.Branch ||
			want.Proposed != got.Proposed || want.Limited != got.Limited || want.Stabilized != got.Stabilized {
			t.Fatalf("%+v\n%+v", want, got)
		}
		if diff := cmp.Diff(before, after, remembered); diff != "" {
			t.Fatalf("remembers otherwise (-HPA +WorkloadAutoscaler):\n%s", diff)
		}
		a, b := statusreport.Of(&want, horizontal.Outcome{}), statusreport.Of(&got, horizontal.Outcome{})
		a.Rename("WorkloadAutoscaler")
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("reports otherwise (-HPA +WorkloadAutoscaler):\n%s", diff)
		}
	})
}

// TestUsedBuffersOfWorkloadAutoscaler runs TestBuffersCarryNothing with schedules and fallbacks.
func TestUsedBuffersOfWorkloadAutoscaler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var state horizontal.State
		for i := range 4 {
			m := making(t)
			s := m.situation()
			m.extend(&s.policy)
			s.state, s.now = state, noon.Add(time.Duration(i)*time.Minute)
			want, expected := s.decide()
			got, next := horizontal.Decide(s.now, &s.policy, s.state, &s.observation)
			for name, of := range map[string][2]any{
				"schedules": {want.Schedules, got.Schedules}, "fallbacks": {want.Fallbacks, got.Fallbacks},
				"zero": {want.Zero, got.Zero}, "desired": {want.Desired, got.Desired},
				"report": {statusreport.Of(&want, horizontal.Outcome{}), statusreport.Of(&got, horizontal.Outcome{})},
			} {
				if diff := cmp.Diff(of[0], of[1], cmpopts.EquateEmpty(), cmp.Comparer(sameSchedule)); diff != "" {
					t.Fatalf("other %s (-new buffers +used):\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(expected, next, remembered, cmpopts.IgnoreUnexported(fallback.Failure{})); diff != "" {
				t.Fatalf("remembers otherwise (-new buffers +used):\n%s", diff)
			}
			state = horizontal.Settle(next, horizontal.Outcome{At: s.now})
		}
	})
}

func sameSchedule(a, b *schedules.Schedule) bool { return a == b }

// TestStateOfFallbacksIsKept: the failing metrics and the times of their failures survive being saved, and are found in
// a list of metrics with another order.
func TestStateOfFallbacksIsKept(t *testing.T) {
	p := policy(1, 20)
	jobs, mails := queue(), queue()
	jobs.Name, mails.Name = "jobs", "mails"
	jobs.Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: 7}
	p.Metrics, p.WorkloadAutoscaler = []source.Spec{jobs, mails}, &horizontal.WorkloadAutoscaler{}
	o := see(3, broken(), length(3))
	_, state := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	var read horizontal.State
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	p.Metrics, o = []source.Spec{mails, jobs}, see(3, length(3), broken())
	d, read := horizontal.Decide(noon.Add(time.Minute), &p, read, &o)
	if d.Desired != 6 || d.Proposed.Source != proposal.Fallback {
		t.Errorf("%+v leads to %d, want 6 of 7 by the doubling of 3", d.Proposed, d.Desired)
	}
	if r := statusreport.Of(&d, horizontal.Outcome{}); !hasEvent(r.Events, "FallbackActivated") {
		t.Errorf("no event: %+v", r.Events)
	}
	// The state has no entry without the fallback.
	p.Metrics[1].Fallback = source.Fallback{}
	if _, read = horizontal.Decide(noon.Add(2*time.Minute), &p, read, &o); read.Fallbacks != nil {
		t.Errorf("%+v is remembered", read.Fallbacks)
	}
}

// TestEventsOfFallbacksWait: if a decision is not reported, the next one has the event.
func TestEventsOfFallbacksWait(t *testing.T) {
	p := policy(1, 20)
	other := queue()
	other.Name = "other"
	p.Metrics, p.WorkloadAutoscaler = []source.Spec{queue(), other}, &horizontal.WorkloadAutoscaler{}
	p.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: 2}
	awaited := metric.Reading{Pending: true}
	var state horizontal.State
	var d horizontal.Decision
	for i, step := range []struct {
		o     horizontal.Observation
		want  horizontal.Branch
		event string
	}{
		{see(3, broken(), length(3)), horizontal.BranchMetrics, ""},
		{see(3, broken(), awaited), horizontal.BranchAwaiting, ""},
		{see(3, broken(), length(3)), horizontal.BranchMetrics, "FallbackActivated"},
		{see(3, length(1), awaited), horizontal.BranchAwaiting, ""},
		{see(3, length(1), length(3)), horizontal.BranchMetrics, "FallbackDeactivated"},
		{see(3, length(1), length(3)), horizontal.BranchMetrics, ""},
	} {
		d, state = horizontal.Decide(noon.Add(time.Duration(i)*time.Minute), &p, state, &step.o)
		if d.Branch != step.want {
			t.Fatalf("step %d: %v, want %v", i, d.Branch, step.want)
		}
		if d.Branch == horizontal.BranchAwaiting {
			continue
		}
		events := statusreport.Of(&d, horizontal.Outcome{}).Events
		for _, name := range []string{"FallbackActivated", "FallbackDeactivated"} {
			if hasEvent(events, name) != (name == step.event) {
				t.Errorf("step %d: want the event %q, got %+v", i, step.event, events)
			}
		}
	}
}

// threeSchedules are not in force at noon.
func threeSchedules(t testing.TB) []schedules.Schedule {
	return []schedules.Schedule{
		{Name: "day", Start: starting(t, "0 6 * * 1-5"), Duration: 4 * time.Hour, MinReplicas: 20, Ramp: 30 * time.Minute},
		{Name: "night", Start: starting(t, "0 22 * * *"), Duration: 6 * time.Hour, MaxReplicas: 40},
		{Name: "office", Start: starting(t, "0 8 * * 1-5"), Duration: 10 * time.Hour, MinReplicas: 2, MaxReplicas: 1000},
	}
}

// TestSchedulesAllocateNothing: schedules, and fallbacks of metrics that do not fail, allocate no memory.
func TestSchedulesAllocateNothing(t *testing.T) {
	w := tide{policy: policy(1, 10_000), observation: steady(10)}
	w.policy.Metrics, w.policy.Behavior, w.policy.Surge = []source.Spec{cpu()}, defaults(), surge.Defaults()
	w.policy.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: 3}
	w.policy.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
	w.policy.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Schedules: threeSchedules(t)}
	w.turn()
	if allocations := testing.AllocsPerRun(1, w.turn); allocations != 0 {
		t.Errorf("%v allocations in %d decisions", allocations, cycle)
	}
}

// BenchmarkWorkloadAutoscaler runs BenchmarkDecide with the features that an HPA does not have.
func BenchmarkWorkloadAutoscaler(b *testing.B) {
	for name, w := range map[string]*horizontal.WorkloadAutoscaler{
		"hpa": nil, "plain": {}, "schedules=3": {Schedules: threeSchedules(b)},
	} {
		b.Run(name, func(b *testing.B) {
			p := policy(1, 2000)
			p.Behavior, p.WorkloadAutoscaler = defaults(), w
			p.Tolerance = metric.Tolerance{Up: 0.1, Down: 0.1}
			p.Metrics = []source.Spec{cpu()}
			s, o := horizontal.State{}, steady(10)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now := noon.Add(time.Duration(i) * time.Second)
				o.Readings[0].Samples[0].Milli = int64(500 + i%7*400)
				i++
				_, s = horizontal.Decide(now, &p, s, &o)
			}
		})
	}
}

// TestProposalsAreBounded: a fallback of the largest count and a schedule's largest min do not overflow.
func TestProposalsAreBounded(t *testing.T) {
	p := policy(1, math.MaxInt32)
	p.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Second, Replicas: math.MaxInt32}
	p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Schedules: []schedules.Schedule{{
		Name: "all", Start: starting(t, "0 13 * * *"), Duration: time.Hour, MinReplicas: math.MaxInt32, Ramp: 24 * time.Hour,
	}}}
	o, s := see(3, broken()), horizontal.State{}
	var d horizontal.Decision
	for i := range 3600 {
		d, s = horizontal.Decide(noon.Add(time.Duration(i)*time.Second), &p, s, &o)
		if d.Bounds.MinReplicas < 1 || d.Desired < 3 || !d.Schedules.Next.At.After(d.At) {
			t.Fatalf("%+v", d)
		}
	}
}
