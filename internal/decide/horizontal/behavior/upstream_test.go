package behavior_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// The cases of upstream's tests (pkg/controller/podautoscaler/ horizontal_test.go, v1.37.1) that call one function with
// inputs that no decision has, or that check the history afterwards. Subtests have upstream's names.

var upstreamNoon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestUpstreamAboveMax: the count is 20, max is 10, and the proposal is 1000. A decision corrects such a count earlier.
func TestUpstreamAboveMax(t *testing.T) {
	const period = 15 * time.Second
	defaults := &behavior.Behavior{
		Up: behavior.Rules{Policies: []behavior.RatePolicy{
			{Type: behavior.RatePods, Value: 4, Period: period}, {Type: behavior.RatePercent, Value: 100, Period: period},
		}},
		Down: behavior.Rules{Policies: []behavior.RatePolicy{{Type: behavior.RatePercent, Value: 100, Period: period}}},
	}
	for name, rules := range map[string]*behavior.Behavior{"without behavior": nil, "with behavior": defaults} {
		t.Run(name, func(t *testing.T) {
			limits := behavior.Limits{MinReplicas: 1, MaxReplicas: 10, Behavior: rules, Divergences: divergence.None}
			past := behavior.History{Recommendations: &history.Recommendations{}}
			got := behavior.Limit(&limits, &past, behavior.Proposed{Now: upstreamNoon, Current: 20, Replicas: 1000})
			if got.Replicas != 10 || got.Reason != behavior.TooManyReplicas {
				t.Errorf("limited to %d, %s; want 10, TooManyReplicas", got.Replicas, got.Reason)
			}
		})
	}
}

// recommendation is a recommendation of some minutes ago.
type recommendation struct {
	minutes  int
	replicas int32
}

func slotsOf(recent []recommendation) []history.Recommendation {
	slots := make([]history.Recommendation, len(recent))
	for i, w := range recent {
		slots[i] = history.Recommendation{
			Time: upstreamNoon.Add(-time.Duration(w.minutes) * time.Minute), Replicas: w.replicas,
		}
	}
	return slots
}

// TestUpstreamPlainWindow: without behavior the highest proposal of five minutes applies. The new proposal replaces the
// last of the older ones.
func TestUpstreamPlainWindow(t *testing.T) {
	for name, tt := range map[string]struct {
		history      []recommendation
		wished, want int32
		remembered   []recommendation
	}{
		"empty log": {nil, 5, 5, []recommendation{{0, 5}}},
		"stabilize": {
			[]recommendation{{2, 4}, {1, 5}}, 3, 5,
			[]recommendation{{2, 4}, {1, 5}, {0, 3}},
		},
		"no stabilize": {
			[]recommendation{{2, 1}, {1, 2}}, 3, 3,
			[]recommendation{{2, 1}, {1, 2}, {0, 3}},
		},
		"no stabilize - old recommendations": {
			[]recommendation{{10, 10}, {9, 9}}, 3, 3,
			[]recommendation{{10, 10}, {0, 3}},
		},
		"stabilize - old recommendations": {
			[]recommendation{{10, 10}, {1, 4}, {2, 5}, {9, 9}}, 3, 5,
			[]recommendation{{10, 10}, {1, 4}, {2, 5}, {0, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recommendations := history.Recommendations{Slots: slotsOf(tt.history)}
			limits := behavior.Limits{
				MinReplicas: 1, MaxReplicas: 20, DownscaleStabilization: 5 * time.Minute, Divergences: divergence.None,
			}
			got := behavior.Stabilize(&limits, &behavior.History{Recommendations: &recommendations},
				behavior.Proposed{Now: upstreamNoon, Current: 10, Replicas: tt.wished})
			if got.Replicas != tt.want {
				t.Errorf("stabilized at %d, want %d", got.Replicas, tt.want)
			}
			if diff := cmp.Diff(slotsOf(tt.remembered), recommendations.Slots); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpstreamBothWindows: with behavior the count moves no farther than the lowest proposal of the scale-up window and
// the highest of the scale-down window. The new proposal replaces one that is older than both windows.
func TestUpstreamBothWindows(t *testing.T) {
	const none = time.Duration(0)
	for name, tt := range map[string]struct {
		history               []recommendation
		current, wished, want int32
		up, down              time.Duration
		remembered            []recommendation
	}{
		"empty recommendations for scaling down": {
			nil, 100, 5, 5, none, none,
			[]recommendation{{0, 5}},
		},
		"simple scale down stabilization": {
			[]recommendation{{2, 4}, {1, 5}}, 100, 3, 5, none, 3 * time.Minute,
			[]recommendation{{2, 4}, {1, 5}, {0, 3}},
		},
		"simple scale up stabilization": {
			[]recommendation{{2, 4}, {1, 5}}, 1, 7, 4, 5 * time.Minute, none,
			[]recommendation{{2, 4}, {1, 5}, {0, 7}},
		},
		"no scale down stabilization": {
			[]recommendation{{2, 1}, {1, 2}}, 100, 3, 3, 5 * time.Minute, none,
			[]recommendation{{2, 1}, {1, 2}, {0, 3}},
		},
		"no scale up stabilization": {
			[]recommendation{{2, 4}, {1, 5}}, 1, 3, 3, none, 5 * time.Minute,
			[]recommendation{{2, 4}, {1, 5}, {0, 3}},
		},
		"no scale down stabilization, reuse recommendation element": {
			[]recommendation{{10, 10}, {9, 9}}, 100, 3, 3, none, none,
			[]recommendation{{10, 10}, {0, 3}},
		},
		"no scale up stabilization, reuse recommendation element": {
			[]recommendation{{10, 10}, {9, 9}}, 1, 100, 100, none, none,
			[]recommendation{{10, 10}, {0, 100}},
		},
		"scale down stabilization, reuse one of obsolete recommendation element": {
			[]recommendation{{10, 10}, {1, 4}, {2, 5}, {9, 9}}, 100, 3, 5, none, 3 * time.Minute,
			[]recommendation{{10, 10}, {1, 4}, {2, 5}, {0, 3}},
		},
		"scale up stabilization, reuse one of obsolete recommendation element": {
			[]recommendation{{100, 10}, {1, 6}, {2, 5}, {3, 9}}, 1, 100, 5, 5 * time.Minute, none,
			[]recommendation{{0, 100}, {1, 6}, {2, 5}, {3, 9}},
		},
		// The last proposal of the window has the other direction; the count stays. Upstream's rows do not use the history.
		"scale up and down stabilization, do not scale up when prenormalized rec goes down": {
			[]recommendation{{100, 2}, {3, 3}}, 2, 1, 2, 5 * time.Minute, 5 * time.Minute,
			[]recommendation{{0, 1}, {3, 3}},
		},
		"scale up and down stabilization, do not scale down when prenormalized rec goes up": {
			[]recommendation{{100, 2}, {3, 1}}, 2, 3, 2, 5 * time.Minute, 5 * time.Minute,
			[]recommendation{{0, 3}, {3, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recommendations := history.Recommendations{Slots: slotsOf(tt.history)}
			limits := behavior.Limits{
				MinReplicas: 1, MaxReplicas: 200, Divergences: divergence.None,
				Behavior: &behavior.Behavior{
					Up: behavior.Rules{Stabilization: tt.up}, Down: behavior.Rules{Stabilization: tt.down},
				},
			}
			got := behavior.Stabilize(&limits, &behavior.History{Recommendations: &recommendations},
				behavior.Proposed{Now: upstreamNoon, Current: tt.current, Replicas: tt.wished})
			if got.Replicas != tt.want {
				t.Errorf("stabilized at %d, want %d", got.Replicas, tt.want)
			}
			if diff := cmp.Diff(slotsOf(tt.remembered), recommendations.Slots); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
		})
	}
}
