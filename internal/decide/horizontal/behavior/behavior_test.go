package behavior_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// TestBetweenCountAndWish: with behavior, windows and rates lead to a count between the current one and the proposal.
// The tables and the naive twins of package horizontal test which count.
func TestBetweenCountAndWish(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(what string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, what)) * time.Second
		}
		rules := func() behavior.Rules {
			return behavior.Rules{
				Stabilization: seconds("window", 600), Select: behavior.Select(rapid.IntRange(0, 2).Draw(t, "select")),
				Policies: []behavior.RatePolicy{{
					Type: behavior.RateType(rapid.IntRange(0, 1).Draw(t, "unit")), Value: rapid.Int32Range(1, 200).Draw(t, "value"),
					Period: time.Second + seconds("period", 600),
				}},
			}
		}
		limits := behavior.Limits{
			MinReplicas: 1, MaxReplicas: 50, Behavior: &behavior.Behavior{Up: rules(), Down: rules()},
			Divergences: rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences"),
		}
		past := behavior.History{Recommendations: &history.Recommendations{}}
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			change := history.Change{Time: noon.Add(-seconds("event", 600)), Replicas: rapid.Int32Range(1, 20).Draw(t, "change")}
			if rapid.Bool().Draw(t, "up") {
				past.Ups = append(past.Ups, change)
			} else {
				past.Downs = append(past.Downs, change)
			}
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "recommendations") {
			past.Recommendations.Add(noon.Add(time.Duration(100*i-600)*time.Second),
				rapid.Int32Range(0, 60).Draw(t, "recommended"))
		}
		w := behavior.Proposed{
			Now: noon, Current: rapid.Int32Range(1, 50).Draw(t, "current"),
			Replicas: rapid.Int32Range(0, 60).Draw(t, "proposed"),
		}
		low, high := min(w.Current, w.Replicas), max(w.Current, w.Replicas)
		held := behavior.Stabilize(&limits, &past, w)
		if held.Replicas < low || held.Replicas > high {
			t.Fatalf("stabilized at %d, which is not on the way from %d to %d", held.Replicas, w.Current, w.Replicas)
		}
		limited := behavior.Limit(&limits, &past, behavior.Proposed{Now: noon, Current: w.Current, Replicas: held.Replicas})
		if limited.Replicas < low || limited.Replicas > high {
			t.Fatalf("limited to %d, which is not on the way from %d to %d", limited.Replicas, w.Current, w.Replicas)
		}
	})
}
