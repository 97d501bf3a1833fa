package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// decided is a decision on a queue that asks for so many of the two to ten replicas.
func decided(s horizontal.State, current int32, queue int64) Input {
	p := horizontal.Policy{
		MinReplicas: 2, MaxReplicas: 10, DownscaleStabilization: 5 * time.Minute, Divergences: divergence.Default,
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
	d, after := horizontal.Decide(noon, &p, s, &horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: current}, Readings: []metric.Reading{{Series: []int64{queue * 1000}}},
	})
	d = d.Clone()
	after = horizontal.Settle(after, horizontal.Outcome{At: noon})
	return Input{Decision: &d, State: &after}
}

// remembering is a state in which 8 was asked for a minute ago and 9 replicas are there since then.
func remembering(passing bool) (s horizontal.State) {
	s.Recommendations.Add(noon.Add(-time.Hour), 1)
	if passing {
		s.Recommendations.AddPassing(noon.Add(-5*time.Second), 8)
	} else {
		s.Recommendations.Add(noon.Add(-time.Minute), 8)
	}
	s.Count = history.Count{Replicas: 10, IsKnown: true, ChangedAt: noon.Add(-time.Minute)}
	return s
}

// asked is a state in which so many were asked for a minute ago, and 10 replicas are there since then.
func asked(replicas int32) (s horizontal.State) {
	s = remembering(false)
	s.Recommendations.Add(noon.Add(-time.Minute), replicas)
	return s
}

// TestFewReplicas: without behavior, one replica is raised to 4 at once.
func TestFewReplicas(t *testing.T) {
	for from, want := range map[int32]string{1: "raises 1 to 4 at most", 2: "doubles the count at most"} {
		if got := doubling(from, max(4, 2*from)); got != want {
			t.Errorf("from %d it %s, want %s", from, got, want)
		}
	}
}

// TestSentencesOfQueue has what each input adds to a sentence.
func TestSentencesOfQueue(t *testing.T) {
	contested := remembering(false)
	contested.Overrides.Noticed[0], contested.Overrides.Noticed[1] = noon, noon.Add(-time.Second)
	failed := decided(remembering(false), 4, 6)
	failed.WriteError = "conflict"
	unknown := decided(remembering(false), 10, 3)
	unknown.State, unknown.IsHistoryUnknown = nil, true
	for want, in := range map[string]Input{
		"Asks for 14, limited to 10 by maxReplicas (10 since 11:59:00); 40 % more load than 10 pods take at the target.": decided(
			remembering(false), 10, 14),
		"Held at 8 until 12:00:15, then 3: queue asks for 3, but a surge asked for 8 at 11:59:55, and surges are held " +
			"for 20 s.": decided(
			remembering(true), 8, 3),
		"Held at 8 until 12:04:00, then 3: queue asks for 3, but 8 was asked for at 11:59:00, and scaleDown takes the " +
			"highest of the last 5 min.": decided(remembering(false), 8, 3),
		"Scales from 5 to 8: queue asks for 6, but 8 was asked for at 11:59:00, and the highest of the last 5 min counts; " +
			"then 6 after 12:04:00.": decided(remembering(false), 5, 6),
		"Stays at 8: queue is at 100 % of its target; another writer sets the replica count too.": decided(contested, 8, 8),
		"Tries to scale from 4 to 8, but writing it to the target failed: conflict.":              failed,
		"Held at 10 until 12:04:00, then 7: queue asks for 7, but 14 was asked for at 11:59:00, and the highest of the " +
			"last 5 min counts, limited to 10 by maxReplicas.": decided(asked(14), 10, 7),
		"Stays at 10, which is maxReplicas: queue asks for 10; 14 was asked for at 11:59:00, and the highest of the last " +
			"5 min counts.": decided(asked(14), 10, 10),
		"Asks for 12, limited to 10 by maxReplicas (10 since 11:59:00); 20 % more load than 10 pods take at the target.": decided(
			asked(14), 10, 12),
		"Stays at 0: the target has 0 replicas, which turns autoscaling off until somebody scales it up.": decided(
			horizontal.State{}, 0, 5),
		"Scales from 10 to 8: queue asks for 3, but 8 may have been asked for lately, and scaleDown takes the highest of " +
			"the last 5 min.": unknown,
	} {
		if got := Of(in).Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestLastReplica has what keeps the last replica, and until when.
func TestLastReplica(t *testing.T) {
	disabled := &behavior.Behavior{Down: behavior.Rules{Select: behavior.SelectDisabled}}
	for _, tt := range []struct {
		behavior *behavior.Behavior
		reading  metric.Reading
		want     string
	}{
		{nil, metric.Reading{Series: []int64{500}}, "Stays at 1: queue is at 50 % of its target, which needs 1 pod; the " +
			"last replica goes at 12:04:00 if no metric becomes active."},
		{disabled, metric.Reading{Series: []int64{0}}, "Stays at 1: the last replica stays, since selectPolicy of scaleDown is " +
			"Disabled."},
		{nil, metric.Reading{Error: "down"}, "Stays at 1: queue cannot be read (external metrics " +
			"API: down)."},
	} {
		p := horizontal.Policy{
			MaxReplicas: 10, DownscaleStabilization: time.Second, Divergences: divergence.Default, Behavior: tt.behavior,
			WorkloadAutoscaler: &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: 5 * time.Minute}},
			Metrics: []source.Spec{{
				Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
				ActivationMilli: 900,
			}},
		}
		o := horizontal.Observation{
			Target: horizontal.Target{SpecReplicas: 1}, Readings: []metric.Reading{tt.reading},
		}
		_, s := horizontal.Decide(noon.Add(-time.Minute), &p, horizontal.State{}, &o)
		d, after := horizontal.Decide(noon, &p, s, &o)
		if got := Of(Input{Decision: &d, State: &after}).Text; got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestPercent: what is more than nothing is not 0, and what is not the whole not 100.
func TestPercent(t *testing.T) {
	for part, want := range map[float64]string{
		0: "0 %", 0.001: "less than 1 %", 0.4: "40 %", 0.996: "99.6 %", 1: "100 %", 1.004: "100.4 %", 9.01: "901 %",
		1000: "more than 99 times",
	} {
		if got := percent(part); got != want {
			t.Errorf("%v: %s, want %s", part, got, want)
		}
	}
}

// TestOfTarget: what is far beyond a target is said in times, with no more after it.
func TestOfTarget(t *testing.T) {
	for ratio, want := range map[float64]string{
		0.5: "50 % of its target or more", 99: "9900 % of its target or more", 510: "more than 99 times its target",
	} {
		if got := atLeast(ratio); got != want {
			t.Errorf("%v: %s, want %s", ratio, got, want)
		}
	}
}

// TestShortName: the names of a workload's pods differ at their ends.
func TestShortName(t *testing.T) {
	for name, want := range map[string]string{
		"web-0": "web-0", "web-7d9f8b6c5d-mktjg": "web-7d9f8b6c5d-mktjg", "checkout-7d9f8b6c5d-mktjg": "checkout-…mktjg",
		"a-name-without-an-end-that-differs-1": "a-…ers-1",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
