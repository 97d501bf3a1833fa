package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// jumping returns the length of a queue: 10 between noon and one o'clock, and 2 at other times. A pod serves one item.
func jumping(at time.Time) int32 {
	if at.Hour() == 12 {
		return 10
	}
	return 2
}

func active() forecast.Settings {
	return forecast.Settings{
		Mode: forecast.Active, WasteLimitPercent: forecast.DefaultWasteLimitPercent, Price: forecast.DefaultPrice,
	}
}

// forecasting returns a policy with a forecast.
func forecasting() horizontal.Policy {
	p := policy(1, 50)
	p.Forecast, p.Behavior = active(), defaults()
	return p
}

// played is a target whose load a test plays, with its state and its count.
type played struct {
	policy  horizontal.Policy
	state   horizontal.State
	now     time.Time
	current int32
	last    horizontal.Decision
}

// decide decides on a length of the queue, and advances the time by step.
func (p *played) decide(queue int32, step time.Duration) {
	o := see(p.current, length(queue))
	o.StartUp = time.Minute
	p.last, p.state = horizontal.Decide(p.now, &p.policy, p.state, &o)
	p.state = horizontal.Settle(p.state, horizontal.Outcome{At: p.now})
	p.current = p.last.Desired
	p.now = p.now.Add(step)
}

// until plays the load with a jump each day.
func (p *played) until(end time.Time) {
	for p.now.Before(end) {
		p.decide(jumping(p.now), 15*time.Second)
	}
}

// learnt returns a target half an hour before the third jump.
func learnt() *played {
	p := &played{policy: forecasting(), now: noon.Add(-60 * time.Hour), current: 2}
	p.until(noon.Add(-30 * time.Minute))
	return p
}

// TestForecastRaisesBeforeTheJump: the count rises some minutes before the load, not earlier, and falls as without a
// forecast.
func TestForecastRaisesBeforeTheJump(t *testing.T) {
	p := learnt()
	if p.current != 2 || p.last.Forecast.Reason != forecast.ReasonInUse {
		t.Fatalf("half an hour before: %d replicas, %+v", p.current, p.last.Forecast)
	}
	p.until(noon.Add(-time.Minute))
	if p.current < 6 || p.current > 10 {
		t.Errorf("a minute before the jump there are %d replicas", p.current)
	}
	if p.last.Winner().Source != proposal.Forecast || p.last.Proposed.Replicas != 2 {
		t.Errorf("the count follows from %+v, the metric proposes %+v", p.last.Winner(), p.last.Proposed)
	}
	p.until(noon.Add(time.Minute))
	if p.current != 10 {
		t.Errorf("with the load there are %d replicas", p.current)
	}
	p.until(noon.Add(70 * time.Minute))
	if p.current > 3 {
		t.Errorf("ten minutes after the load there are %d replicas", p.current)
	}
}

// TestForecastPassesWithoutTheLoad: if the load does not come, the count falls when the forecast ends, without a
// stabilization window: the metrics have never proposed that count.
func TestForecastPassesWithoutTheLoad(t *testing.T) {
	p := learnt()
	p.until(noon.Add(-time.Minute))
	most := p.current
	for p.now.Before(noon.Add(2 * time.Hour)) {
		p.decide(2, 15*time.Second)
		most = max(most, p.current)
		for _, r := range p.state.Recommendations.Highs {
			if r.Replicas != 2 {
				t.Fatalf("a recommendation of %d is remembered", r.Replicas)
			}
		}
		if p.last.ForecastReplicas == 0 && p.current != 2 {
			t.Fatalf("at %v there are %d replicas, and the forecast asks for none", p.now, p.current)
		}
	}
	if most < 6 || p.current != 2 {
		t.Errorf("%d replicas at most, %d after the hour", most, p.current)
	}
}

// TestForecastIsBounded: max, schedules, rates and the mode bound the forecast.
func TestForecastIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(p *played)
		least  int32
		most   int32
	}{
		"by max":              {"no more than 4", func(p *played) { p.policy.MaxReplicas = 4 }, 4, 4},
		"by the rate":         {"at most one pod a minute", func(p *played) { p.policy.Behavior.Up.Policies = []behavior.RatePolicy{pods(1, time.Minute)} }, 3, 5},
		"switched off":        {"no rise is permitted", func(p *played) { p.policy.Behavior.Up.Select = behavior.SelectDisabled }, 2, 2},
		"not by the window":   {"what earlier recommendations were holds up metrics", func(p *played) { p.policy.Behavior.Up.Stabilization = 10 * time.Minute }, 6, 10},
		"without behavior":    {"doubling is no hindrance", func(p *played) { p.policy.Behavior = nil }, 6, 10},
		"in preview":          {"it is only shown", func(p *played) { p.policy.Forecast.Mode = forecast.Preview }, 2, 2},
		"switched off itself": {"and forgotten", func(p *played) { p.policy.Forecast.Mode = forecast.Off }, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := learnt()
			c.change(p)
			p.until(noon.Add(-time.Minute))
			if p.current < c.least || p.current > c.most {
				t.Errorf("%d replicas, want %d to %d: %s", p.current, c.least, c.most, c.reason)
			}
		})
	}
}

// TestForecastWithoutMetric: while a metric fails, the forecast raises no count, and the decision lowers none.
func TestForecastWithoutMetric(t *testing.T) {
	p := learnt()
	for begun := p.now; p.now.Before(noon.Add(-time.Minute)); p.now = p.now.Add(15 * time.Second) {
		o := see(p.current, broken())
		p.last, p.state = horizontal.Decide(p.now, &p.policy, p.state, &o)
		isKnown := p.last.Forecast.Reason != forecast.ReasonLoadUnknown
		if p.last.Desired != 2 || isKnown && p.now.Sub(begun) > 2*time.Minute {
			t.Fatalf("%d replicas by %+v", p.last.Desired, p.last.Forecast)
		}
	}
	p.policy.MinReplicas = 0
	o := see(0, length(0))
	if p.last, _ = horizontal.Decide(p.now, &p.policy, p.state, &o); p.last.Desired != 0 || p.last.ForecastReplicas != 0 {
		t.Errorf("at zero replicas it asks for %d", p.last.Desired)
	}
}

// TestForecastKeepsCounts: a forecast that moves by one replica, or within the tolerance, neither removes nor adds
// pods.
func TestForecastKeepsCounts(t *testing.T) {
	inUse := func(replicas int32) *forecast.Result {
		return &forecast.Result{Reason: forecast.ReasonInUse, Replicas: replicas}
	}
	for name, c := range map[string]struct {
		result              *forecast.Result
		current, stabilized int32
		want                int32
	}{
		"more than the metrics":         {inUse(8), 2, 2, 8},
		"less than the metrics":         {inUse(8), 9, 9, 0},
		"as much as the metrics":        {inUse(8), 8, 8, 0},
		"one less than there are":       {inUse(7), 8, 2, 8},
		"two less than there are":       {inUse(6), 8, 2, 6},
		"within a tenth":                {inUse(91), 100, 2, 100},
		"beyond it":                     {inUse(89), 100, 2, 89},
		"nothing":                       {&forecast.Result{Reason: forecast.ReasonNotWorthItsPrice}, 8, 2, 0},
		"still learning":                {&forecast.Result{Reason: forecast.ReasonLearning}, 8, 2, 0},
		"nothing known of the load now": {&forecast.Result{Reason: forecast.ReasonLoadUnknown}, 8, 2, 0},
		"no replicas":                   {inUse(8), 0, 0, 0},
	} {
		if got := proposal.OfForecast(c.result, c.current, c.stabilized, 0.1); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestPreviewDecidesAlike: a forecast in mode Preview changes neither the rest of the decision nor the history.
func TestPreviewDecidesAlike(t *testing.T) {
	states := map[forecast.Mode]*forecast.State{forecast.Preview: learnt().state.Forecast}
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		outcomes := map[forecast.Mode]horizontal.Decision{}
		histories := map[forecast.Mode]horizontal.State{}
		for _, mode := range []forecast.Mode{forecast.Off, forecast.Preview} {
			p, state := s.policy, s.state.Clone()
			p.Forecast, state.Forecast = active(), states[mode].Clone()
			p.Forecast.Mode = mode
			d, after := horizontal.Decide(s.now, &p, state, &s.observation)
			outcomes[mode], histories[mode] = d.Clone(), after.Clone()
		}
		off, preview := outcomes[forecast.Off], outcomes[forecast.Preview]
		report := statusreport.Of(&off, horizontal.Outcome{At: s.now})
		if diff := cmp.Diff(report, statusreport.Of(&preview, horizontal.Outcome{At: s.now})); diff != "" {
			t.Fatalf("reports (-off +preview):\n%s", diff)
		}
		if off.Desired != preview.Desired || preview.ForecastReplicas != 0 ||
			len(off.Proposals(nil)) != len(preview.Proposals(nil)) {
			t.Fatalf("%d and %d replicas", off.Desired, preview.Desired)
		}
		before, after := histories[forecast.Off], histories[forecast.Preview]
		before.Forecast, after.Forecast = nil, nil
		if diff := cmp.Diff(before, after, remembered); diff != "" {
			t.Fatalf("histories (-off +preview):\n%s", diff)
		}
	})
}

// TestForecastOnlyRaises: no situation leads to fewer replicas with an active forecast than without.
func TestForecastOnlyRaises(t *testing.T) {
	state := learnt().state.Forecast
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		without, _ := s.decide()
		p := s.policy
		p.Forecast, s.state.Forecast = active(), state.Clone()
		with, _ := horizontal.Decide(s.now, &p, s.state, &s.observation)
		if with.Desired < without.Desired {
			t.Fatalf("%d replicas, without %d", with.Desired, without.Desired)
		}
		if with.Rescale && with.Desired > p.MaxReplicas {
			t.Fatalf("%d replicas above max %d", with.Desired, p.MaxReplicas)
		}
	})
}

// TestForecastIsRenewedByTheMinute: an active forecast in use requests a decision at the start of each minute.
func TestForecastIsRenewedByTheMinute(t *testing.T) {
	p := learnt()
	p.now = p.now.Add(7 * time.Second)
	o := see(2, length(2))
	p.last, p.state = horizontal.Decide(p.now, &p.policy, p.state, &o)
	next := p.last.FollowUp(&p.state, &o, nil)
	if want := p.now.Add(-forecast.Lag).Truncate(time.Minute).Add(time.Minute + forecast.Lag); !next.Forecast.Equal(want) || !next.DecideAt.IsZero() {
		t.Errorf("renewed at %v, want %v; decided again at %v", next.Forecast, want, next.DecideAt)
	}
	p.policy.Forecast.Mode = forecast.Preview
	p.last, p.state = horizontal.Decide(p.now, &p.policy, p.state, &o)
	if next = p.last.FollowUp(&p.state, &o, nil); !next.Forecast.IsZero() {
		t.Errorf("a preview is renewed at %v", next.Forecast)
	}
}

// TestForecastReason: events and the log explain why the count rises.
func TestForecastReason(t *testing.T) {
	p := learnt()
	for p.last.ForecastReplicas == 0 || !p.last.Rescale {
		p.until(p.now.Add(time.Second))
		if p.now.After(noon) {
			t.Fatal("nothing was raised before noon")
		}
	}
	report := statusreport.Of(&p.last, horizontal.Outcome{At: p.now})
	if report.Reason != "forecast of the load of earlier days" {
		t.Errorf("the reason is %q", report.Reason)
	}
	list := p.last.Proposals(nil)
	if last := list[len(list)-1]; last.Source != proposal.Forecast || last.Replicas != p.last.ForecastReplicas {
		t.Errorf("the proposals are %+v", list)
	}
	p.policy.ForecastProblem = "no such mode"
	p.until(p.now.Add(time.Second))
	report = statusreport.Of(&p.last, horizontal.Outcome{At: p.now})
	if e := report.Events[len(report.Events)-1]; e.Reason != "InvalidForecast" || e.Message != "no such mode" {
		t.Errorf("the events are %+v", report.Events)
	}
}

// TestForecastAllocatesNothing: after the first decision, learning allocates no memory.
func TestForecastAllocatesNothing(t *testing.T) {
	p := learnt()
	o := see(2, length(2))
	step := func() {
		p.now = p.now.Add(15 * time.Second)
		_, p.state = horizontal.Decide(p.now, &p.policy, p.state, &o)
	}
	if n := testing.AllocsPerRun(100, step); n > 0 {
		t.Errorf("%g allocations a decision", n)
	}
}
