package horizontal_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

func selecting(o horizontal.Observation, problem podselector.Problem) horizontal.Observation {
	o.Target.Selector = podselector.Selector{
		Problem: problem, Message: "pods by selector app=web are controlled by more than one HPA",
	}
	return o
}

func scaledToZero(o horizontal.Observation) horizontal.Observation {
	o.ScaledToZero = true
	return o
}

// TestBranches checks the branch of a decision and its result.
func TestBranches(t *testing.T) {
	type result struct {
		Branch  horizontal.Branch
		Desired int32
		Rescale bool
		// Needs is set if the decision needs the metrics.
		Needs bool
	}
	resource := source.Spec{
		Type: source.Resource, Name: "memory", Target: source.Target{Type: source.Utilization, Percent: 50},
	}
	unreadable := see(3, length(3))
	unreadable.Target.Error = "not found"

	for name, tt := range map[string]struct {
		reason      string
		min, max    int32
		metrics     []source.Spec
		observation horizontal.Observation
		set         divergence.Set
		want        result
	}{
		"metrics": {
			"in range", 1, 10, nil, see(3, length(5)), divergence.Default,
			result{horizontal.BranchMetrics, 5, true, true},
		},
		"at min": {
			"the bounds are in range", 3, 10, nil, see(3, length(3)), divergence.Default,
			result{horizontal.BranchMetrics, 3, false, true},
		},
		"at max": {
			"the bounds are in range", 1, 3, nil, see(3, length(3)), divergence.Default,
			result{horizontal.BranchMetrics, 3, false, true},
		},
		"scale not read": {
			"without a current count there is no decision", 1, 10, nil, unreadable, divergence.Default,
			result{horizontal.BranchNoScale, 3, false, false},
		},
		"above max": {
			"corrected whatever the metrics say, which are shown all the same", 1, 10, nil, see(12, length(5)),
			divergence.Default,
			result{horizontal.BranchAboveMax, 10, true, true},
		},
		"above max, upstream": {
			"no look at the metrics", 1, 10, nil, see(12, length(5)), divergence.None,
			result{horizontal.BranchAboveMax, 10, true, false},
		},
		"below min": {
			"corrected whatever the metrics say", 4, 10, nil, see(3, length(9)), divergence.Default,
			result{horizontal.BranchBelowMin, 4, true, true},
		},
		"below min, upstream": {
			"no look at the metrics", 4, 10, nil, see(3, length(9)), divergence.None,
			result{horizontal.BranchBelowMin, 4, true, false},
		},
		"below min, metrics down": {
			"a failing metric does not keep a count out of range", 4, 10, nil, see(3, broken()), divergence.Default,
			result{horizontal.BranchBelowMin, 4, true, true},
		},
		"out of range, two autoscalers": {
			"they would flip the count for ever", 4, 10, nil, selecting(see(3), podselector.Ambiguous),
			divergence.Default,
			result{horizontal.BranchFailed, 3, false, false},
		},
		"out of range, two autoscalers, upstream": {
			"upstream does not look", 4, 10, nil, selecting(see(3), podselector.Ambiguous), divergence.None,
			result{horizontal.BranchBelowMin, 4, true, false},
		},
		"out of range, no selector": {
			"a bound needs no pods", 4, 10, nil, selecting(see(3), podselector.Missing), divergence.Default,
			result{horizontal.BranchBelowMin, 4, true, false},
		},
		"no selector": {
			"no pods, no metrics", 1, 10, nil, selecting(see(3), podselector.Missing), divergence.Default,
			result{horizontal.BranchFailed, 3, false, false},
		},
		"two autoscalers": {
			"both stop", 1, 10, nil, selecting(see(3), podselector.Ambiguous), divergence.None,
			result{horizontal.BranchFailed, 3, false, false},
		},
		"zero": {
			"scaling was switched off", 1, 10, nil, see(0, length(5)), divergence.Default,
			result{horizontal.BranchDisabled, 0, false, false},
		},
		"zero is below max and min": {
			"maintenance comes before the bounds", 5, 10, nil, see(0, length(5)), divergence.None,
			result{horizontal.BranchDisabled, 0, false, false},
		},
		"scaled to zero": {
			"an External metric has values without pods", 0, 10, nil, scaledToZero(see(0, length(3))), divergence.Default,
			result{horizontal.BranchMetrics, 3, true, true},
		},
		"scaled to zero, nothing to do": {
			"stays", 0, 10, nil, scaledToZero(see(0, length(0))), divergence.Default,
			result{horizontal.BranchMetrics, 0, false, true},
		},
		"scaled to zero, then min raised": {
			"comes back to min at least, although the rate from zero is 4", 6, 10, nil, scaledToZero(see(0, length(0))),
			divergence.Default,
			result{horizontal.BranchMetrics, 6, true, true},
		},
		"scaled to zero, then only metrics of pods": {
			"nothing can call it back", 0, 10, []source.Spec{resource}, scaledToZero(see(0, broken())), divergence.Default,
			result{horizontal.BranchDisabled, 0, false, false},
		},
		"scaled to zero, min raised, only metrics of pods": {
			"the metrics are asked first, which fail without pods: the target goes to min",
			2, 10, []source.Spec{resource}, scaledToZero(see(0, metric.Reading{})), divergence.Default,
			result{horizontal.BranchBelowMin, 2, true, true},
		},
		"scaled to zero, min raised, only metrics of pods, upstream": {
			"upstream keeps it at zero",
			2, 10, []source.Spec{resource}, scaledToZero(see(0, metric.Reading{})), divergence.None,
			result{horizontal.BranchFailed, 0, false, true},
		},
		"a reading is missing": {
			"a defect of the shell costs the metric, not the process", 1, 10, nil, see(3), divergence.Default,
			result{horizontal.BranchFailed, 3, false, true},
		},
		"no metrics": {
			"the API server never stores such an object", 1, 10, []source.Spec{}, see(3), divergence.Default,
			result{horizontal.BranchFailed, 3, false, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(tt.min, tt.max)
			p.Divergences = tt.set
			if tt.metrics != nil {
				p.Metrics = tt.metrics
			}
			d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &tt.observation)
			got := result{d.Branch, d.Desired, d.Rescale, horizontal.NeedsReadings(&p, &horizontal.State{}, &tt.observation)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestCombine checks how several metrics become one proposal.
func TestCombine(t *testing.T) {
	for name, tt := range map[string]struct {
		reason   string
		readings []metric.Reading
		desired  int32
		// index is the metric with the highest proposal; failed is set if no metric has one.
		index  int
		failed bool
	}{
		"largest first":  {"the largest proposal holds", []metric.Reading{length(5), length(4)}, 5, 0, false},
		"largest last":   {"the largest proposal holds", []metric.Reading{length(4), length(5)}, 5, 1, false},
		"equal":          {"of equals the first is named", []metric.Reading{length(5), length(5)}, 5, 0, false},
		"zero, then one": {"a proposal of zero gives way", []metric.Reading{length(0), length(1)}, 3, 1, false},
		"zero, zero": {"as upstream the last proposal of zero is named", []metric.Reading{length(0), length(0)}, 3, 1,
			false},
		"one down, up":   {"what can be computed may raise the count", []metric.Reading{broken(), length(5)}, 5, 1, false},
		"one down, same": {"and may keep it", []metric.Reading{length(3), broken()}, 3, 0, false},
		"one down, down": {"but not lower it: the failing metric might need it", []metric.Reading{length(2), broken()}, 3, 0,
			true},
		"all down":  {"no proposal", []metric.Reading{broken(), broken()}, 3, 0, true},
		"all lower": {"the window holds the count", []metric.Reading{length(1), length(2)}, 3, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := policy(1, 10), see(3, tt.readings...)
			p.Metrics = []source.Spec{queue(), queue()}
			d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
			if d.Desired != tt.desired || (d.Branch == horizontal.BranchFailed) != tt.failed {
				t.Errorf("got %d on %v: %s", d.Desired, d.Branch, tt.reason)
			}
			if !tt.failed && d.Proposed.Index != tt.index {
				t.Errorf("metric %d won: %s", d.Proposed.Index, tt.reason)
			}
			if tt.failed && len(s.Recommendations.Highs) != 1 {
				t.Errorf("a decision that failed is remembered: %v", s.Recommendations)
			}
		})
	}
}

// TestSeed: a controller that has just started keeps the count for a window.
func TestSeed(t *testing.T) {
	p, o := policy(1, 10), see(8, length(2))
	d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	if d.Desired != 8 || d.Stabilized.Reason != behavior.ScaleDownStabilized {
		t.Errorf("got %d, %v: the count at the start counts as a recommendation", d.Desired, d.Stabilized.Reason)
	}
	d, s = horizontal.Decide(noon.Add(5*time.Minute), &p, s, &o)
	if d.Desired != 8 {
		t.Errorf("got %d: exactly one window later the start still counts", d.Desired)
	}
	d, _ = horizontal.Decide(noon.Add(5*time.Minute+1), &p, s, &o)
	if d.Desired != 2 {
		t.Errorf("got %d: the start is out of the window", d.Desired)
	}
}

// TestZeroAndBack: with Object and External metrics a target goes to zero and comes back.
func TestZeroAndBack(t *testing.T) {
	p := policy(0, 10)
	p.DownscaleStabilization = 0
	var s horizontal.State
	var d horizontal.Decision
	o := see(2, length(0))
	// A window of 0 still includes the seed, which has the time of the first decision.
	_, s = horizontal.Decide(noon, &p, s, &o)
	d, s = horizontal.Decide(noon.Add(time.Second), &p, s, &o)
	if r := statusreport.Of(&d, horizontal.Outcome{}); d.Desired != 0 || !hasCondition(r, "ScaledToZero", true) {
		t.Fatalf("an empty queue needs no replicas: %d, %+v", d.Desired, r.Conditions)
	}
	o = scaledToZero(see(0, length(0)))
	d, s = horizontal.Decide(noon.Add(2*time.Second), &p, s, &o)
	if d.Rescale || d.Branch != horizontal.BranchMetrics {
		t.Fatalf("it waits at zero and looks: %v", d.Branch)
	}
	o = scaledToZero(see(0, length(9)))
	d, _ = horizontal.Decide(noon.Add(3*time.Second), &p, s, &o)
	if r := statusreport.Of(&d, horizontal.Outcome{}); d.Desired != 4 || !hasCondition(r, "ScaledToZero", false) {
		t.Errorf("the queue fills: 4 at first, and not scaled to zero any more: %d, %+v", d.Desired, r.Conditions)
	}
}

func hasCondition(r statusreport.Report, kind string, status bool) bool {
	for _, c := range r.Conditions {
		if c.Type == kind {
			return c.Status == condition.StatusOf(status)
		}
	}
	return false
}

// TestSettle: with behavior, a scale event counts once it is written. Without behavior only the time of the last
// scale-up is stored, and with upstream's rules not even that.
func TestSettle(t *testing.T) {
	up, down := see(3, length(5)), see(5, length(3))
	free := rates(unlimited(), unlimited())
	free.Down.Policies = append(free.Down.Policies, pods(1, time.Minute))
	for name, tt := range map[string]struct {
		reason      string
		behavior    *behavior.Behavior
		observation horizontal.Observation
		outcome     horizontal.Outcome
		ups, downs  int
		raised      bool
	}{
		"written up":   {"one event upwards", free, up, horizontal.Outcome{At: noon}, 1, 0, true},
		"written down": {"one event downwards", free, down, horizontal.Outcome{At: noon}, 0, 1, false},
		"failed": {"a failed write leaves none", free, up, horizontal.Outcome{At: noon, Error: "conflict"}, 0,
			0, false},
		"nothing to write":       {"no change, no event", free, see(3, length(3)), horizontal.Outcome{At: noon}, 0, 0, false},
		"without behavior":       {"no rate will ask for it", nil, up, horizontal.Outcome{At: noon}, 0, 0, true},
		"without behavior, down": {"nor for this", nil, see(30, length(3)), horizontal.Outcome{At: noon}, 0, 0, false},
		"out of range": {"a correction spends the budget, too", free, see(30, length(3)),
			horizontal.Outcome{At: noon}, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 10)
			p.Behavior = tt.behavior
			d, s := horizontal.Decide(noon, &p, horizontal.State{}, &tt.observation)
			if pending := s.Pending != nil; pending != d.Rescale {
				t.Errorf("pending %v: %s", pending, tt.reason)
			}
			s = horizontal.Settle(s, tt.outcome)
			if want := changed(&d, tt.outcome); s.Count != want {
				t.Errorf("the count is %+v, want %+v", s.Count, want)
			}
			if len(s.ScaleUps) != tt.ups || len(s.ScaleDowns) != tt.downs || s.Pending != nil {
				t.Errorf("%s, got %+v", tt.reason, s)
			}
			for _, c := range append(s.ScaleUps, s.ScaleDowns...) {
				if want := abs(d.Desired - d.Current); c.Replicas != want || !c.Time.Equal(noon) {
					t.Errorf("event %+v, want %d at the time of the write", c, want)
				}
			}
			if again := horizontal.Settle(s.Clone(), tt.outcome); !cmp.Equal(again, s, remembered) {
				t.Errorf("settling twice adds an event: %+v", again)
			}
		})
	}
}

// changed returns the count that the state has after a decision and its write.
func changed(d *horizontal.Decision, o horizontal.Outcome) history.Count {
	c := history.Count{Replicas: d.Current, IsKnown: true}
	if d.Rescale && o.Error == "" {
		c = history.Count{
			Replicas: d.Desired, IsKnown: true, ChangedAt: o.At, EffectiveAt: o.At, IsLowered: d.Desired < d.Current,
			IsAwaited: d.Desired < d.Current,
		}
	}
	return c
}

func abs(x int32) int32 { return max(x, -x) }

// TestOverrides: the state shows that another writer has changed the count after this controller's own write.
func TestOverrides(t *testing.T) {
	const second = time.Second
	own := horizontal.Outcome{At: noon.Add(second), Began: noon}
	for name, tt := range map[string]struct {
		reason  string
		outcome horizontal.Outcome
		is      divergence.Set
		found   int32
		want    bool
	}{
		"set back":         {"it wrote 5", own, divergence.Default, 3, true},
		"as written":       {"it wrote 5", own, divergence.Default, 5, false},
		"off":              {"upstream knows no other writer", own, divergence.None, 3, false},
		"another's change": {"it followed another controller", horizontal.Outcome{At: noon}, divergence.Default, 3, false},
		"refused": {"nothing was written", horizontal.Outcome{At: noon, Began: noon, Error: "conflict"},
			divergence.Default, 3, false},
	} {
		p, up, after := policy(1, 10), see(3, length(5)), see(tt.found, length(5))
		p.Divergences = tt.is
		_, s := horizontal.Decide(noon, &p, horizontal.State{}, &up)
		s = horizontal.Settle(s, tt.outcome)
		_, s = horizontal.Decide(noon.Add(2*second), &p, s, &after)
		if isNoticed := s.Overrides.Noticed[0].Equal(noon.Add(2 * second)); isNoticed != tt.want {
			t.Errorf("%s: %s, noticed %t: %+v", name, tt.reason, isNoticed, s.Overrides)
		}
	}
	p, up, back := policy(1, 10), see(3, length(5)), see(3, length(5))
	_, s := horizontal.Decide(noon, &p, horizontal.State{}, &up)
	s = horizontal.Settle(s, own)
	s = horizontal.Settle(s, horizontal.Outcome{At: noon, Error: "timeout", MayBeWritten: true})
	if _, s = horizontal.Decide(noon.Add(2*second), &p, s, &back); !s.Overrides.Noticed[0].IsZero() {
		t.Error("after a write that may have been made any count is taken for another writer's")
	}
}

// TestUnsettled: a decision without a settlement changes no state.
func TestUnsettled(t *testing.T) {
	p, o := policy(1, 10), see(3, length(5))
	p.Behavior = rates(unlimited(), unlimited())
	_, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	quiet := see(5, length(5))
	_, s = horizontal.Decide(noon.Add(time.Second), &p, s, &quiet)
	if s = horizontal.Settle(s, horizontal.Outcome{At: noon}); len(s.ScaleUps) != 0 {
		t.Errorf("got %+v: the write of an older decision is not this decision's", s.ScaleUps)
	}
}

// TestStateRoundTrip: state survives being saved.
func TestStateRoundTrip(t *testing.T) {
	s := remembering(past{2 * time.Minute, 7}, past{time.Minute, 3})
	s.Version, s.Pending = horizontal.StateVersion, &behavior.Pending{Change: -2, Longest: time.Minute}
	s.ScaleUps = changes(past{time.Minute, 4})
	s.ScaleDowns = changes(past{time.Second, 2})
	s.ScaleDowns[0].Outdated = true
	s.Ready = history.Ready{{Time: noon.Add(-time.Minute), Pods: 3}}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back horizontal.State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back, remembered); diff != "" {
		t.Errorf("%s reads back as (-want +got):\n%s", text, diff)
	}
	const want = `{"version":1,"recommendations":{` +
		`"highs":[{"time":"2026-11-20T11:58:00Z","replicas":7},{"time":"2026-11-20T11:59:00Z","replicas":3}],` +
		`"lows":[{"time":"2026-11-20T11:59:00Z","replicas":3}]},` +
		`"scaleUps":[{"time":"2026-11-20T11:59:00Z","replicas":4}],` +
		`"scaleDowns":[{"time":"2026-11-20T11:59:59Z","replicas":2,"outdated":true}],` +
		`"ready":[{"time":"2026-11-20T11:59:00Z","pods":3}],` +
		`"pending":{"change":-2,"longest":60000000000}}`
	if string(text) != want {
		t.Errorf("version %d is written as\n%s\nwant\n%s", horizontal.StateVersion, text, want)
	}
}

// TestClone: a copy shares nothing.
func TestClone(t *testing.T) {
	s := remembering(past{time.Minute, 7})
	s.ScaleUps, s.Pending = changes(past{time.Minute, 4}), &behavior.Pending{Change: 1}
	c := s.Clone()
	s.Recommendations.Highs[0].Replicas, s.ScaleUps[0].Replicas, s.Pending.Change = 99, 99, 99
	if c.Recommendations.Highs[0].Replicas != 7 || c.ScaleUps[0].Replicas != 4 || c.Pending.Change != 1 {
		t.Errorf("the copy changed with the original: %+v", c)
	}
}
