package behavior_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// noon is when the limits apply.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func pods(value int32, period time.Duration) behavior.RatePolicy {
	return behavior.RatePolicy{Type: behavior.RatePods, Value: value, Period: period}
}

func percent(value int32, period time.Duration) behavior.RatePolicy {
	return behavior.RatePolicy{Type: behavior.RatePercent, Value: value, Period: period}
}

// rates returns a behavior without windows.
func rates(up, down behavior.Rules) *behavior.Behavior { return &behavior.Behavior{Up: up, Down: down} }

// unlimited permits any change.
func unlimited() behavior.Rules {
	return behavior.Rules{Policies: []behavior.RatePolicy{pods(1<<20, time.Second)}}
}

// past is an entry of history.
type past struct {
	ago      time.Duration
	replicas int32
}

// changes returns scale events, oldest first.
func changes(entries ...past) history.Changes {
	var c history.Changes
	for _, e := range entries {
		c = append(c, history.Change{Time: noon.Add(-e.ago), Replicas: e.replicas})
	}
	return c
}

// proposing returns a proposal on values that were requested after the last change of the count.
func proposing(current, replicas int32) behavior.Proposed {
	return behavior.Proposed{Now: noon, Current: current, Replicas: replicas, Fresh: math.MaxInt32}
}

// TestLimitWithoutBehavior: a decision at most doubles the count, or raises it to four.
func TestLimitWithoutBehavior(t *testing.T) {
	for name, tt := range map[string]struct {
		reason                      string
		min, max, current, proposed int32
		set                         divergence.Set
		want                        behavior.Limited
	}{
		"free": {
			"5 is no more than double", 1, 10, 3, 5, divergence.Default,
			behavior.Limited{Replicas: 5},
		},
		"four at least": {
			"from 1, 4 are allowed", 1, 10, 1, 9, divergence.Default,
			behavior.Limited{Replicas: 4, Reason: behavior.ScaleUpLimit, RateLimit: 4, Rated: true},
		},
		"double": {
			"from 3, 6", 1, 10, 3, 9, divergence.Default,
			behavior.Limited{Replicas: 6, Reason: behavior.ScaleUpLimit, RateLimit: 6, Rated: true},
		},
		"max": {
			"max is less than double", 1, 5, 3, 9, divergence.Default,
			behavior.Limited{Replicas: 5, Reason: behavior.TooManyReplicas, RateLimit: 6, Rated: true},
		},
		"max is double": {
			"max is named", 1, 6, 3, 9, divergence.Default,
			behavior.Limited{Replicas: 6, Reason: behavior.TooManyReplicas, RateLimit: 6, Rated: true},
		},
		"min": {
			"downwards there is only min", 2, 10, 9, 1, divergence.Default,
			behavior.Limited{Replicas: 2, Reason: behavior.TooFewReplicas},
		},
		"double of a billion, upstream": {
			"2·(2^30+1) wraps to the smallest number: the write can only fail", 1, math.MaxInt32, 1<<30 + 1, math.MaxInt32,
			divergence.None,
			behavior.Limited{Replicas: math.MinInt32, Reason: behavior.ScaleUpLimit, RateLimit: math.MinInt32, Rated: true},
		},
		"double of a billion": {
			"it stops at the largest number", 1, math.MaxInt32, 1<<30 + 1, math.MaxInt32, divergence.Default,
			behavior.Limited{Replicas: math.MaxInt32},
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := behavior.Limits{MinReplicas: tt.min, MaxReplicas: tt.max, Divergences: tt.set}
			got := behavior.Limit(&limits, &behavior.History{}, proposing(tt.current, tt.proposed))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestRate checks the rate policies, each from the count at the start of its period.
func TestRate(t *testing.T) {
	const minute = time.Minute
	up := func(s behavior.Select, policies ...behavior.RatePolicy) *behavior.Behavior {
		return rates(behavior.Rules{Select: s, Policies: policies}, unlimited())
	}
	down := func(s behavior.Select, policies ...behavior.RatePolicy) *behavior.Behavior {
		return rates(unlimited(), behavior.Rules{Select: s, Policies: policies})
	}
	limit := func(n int32, reason behavior.LimitReason) behavior.Limited {
		return behavior.Limited{Replicas: n, Reason: reason, RateLimit: n, Rated: true}
	}
	free := func(n, rate int32) behavior.Limited {
		return behavior.Limited{Replicas: n, RateLimit: rate, Rated: true}
	}
	upTo := func(n int32) behavior.Limited { return limit(n, behavior.ScaleUpLimit) }
	downTo := func(n int32) behavior.Limited { return limit(n, behavior.ScaleDownLimit) }
	const most, least, off = behavior.SelectMax, behavior.SelectMin, behavior.SelectDisabled

	for name, tt := range map[string]struct {
		reason            string
		behavior          *behavior.Behavior
		ups, downs        []past
		current, proposed int32
		want              behavior.Limited
	}{
		"up, pods":           {"4 a minute", up(most, pods(4, minute)), nil, nil, 10, 99, upTo(14)},
		"up, percent":        {"half of 5 rounded up", up(most, percent(50, minute)), nil, nil, 5, 99, upTo(8)},
		"up, percent of one": {"rounding up lets even one pod grow", up(most, percent(1, minute)), nil, nil, 1, 99, upTo(2)},
		"up, max": {"the larger change: 4 more or double", up(most, pods(4, minute), percent(100, minute)), nil,
			nil, 10, 99, upTo(20)},
		"up, max of few": {"the larger change at 2 is 4 more", up(most, pods(4, minute), percent(100, minute)), nil, nil,
			2, 99, upTo(6)},
		"up, min": {"the smaller change", up(least, pods(4, minute), percent(100, minute)), nil, nil, 10, 99,
			upTo(14)},
		"up, disabled":       {"no change upwards", up(off, pods(4, minute)), nil, nil, 10, 99, upTo(10)},
		"up, disabled, down": {"downwards goes on", up(off, pods(4, minute)), nil, nil, 10, 5, free(5, 10-1<<20)},
		"up, no policies":    {"nothing permits a change", up(most), nil, nil, 10, 99, upTo(10)},
		"up, enough":         {"the proposal is within the rate", up(most, pods(4, minute)), nil, nil, 10, 13, free(13, 14)},
		"up, to max": {"max is 100", up(most, pods(400, minute)), nil, nil, 90, 200,
			behavior.Limited{Replicas: 100, Reason: behavior.TooManyReplicas, RateLimit: 490, Rated: true}},
		"up, spent": {"3 of 4 were added in this minute", up(most, pods(4, minute)), []past{{30 * time.Second, 3}},
			nil, 10, 99, upTo(11)},
		"up, overspent": {"5 of 4 were added: no further, but not back", up(most, pods(4, minute)),
			[]past{{30 * time.Second, 5}}, nil, 10, 99, upTo(10)},
		"up, spent long ago": {"an event exactly as old as the period does not count", up(most, pods(4, minute)),
			[]past{{minute, 3}}, nil, 10, 99, upTo(14)},
		"up, just in": {"one a nanosecond younger does", up(most, pods(4, minute)), []past{{minute - 1, 3}}, nil, 10,
			99, upTo(11)},
		"up, after down": {"the period started with 12: back to 16 is permitted", up(most, pods(4, minute)), nil,
			[]past{{30 * time.Second, 2}}, 10, 99, upTo(16)},
		"up, percent spent": {"the period started with 5, of which 100 % are added", up(most, percent(100, minute)),
			[]past{{30 * time.Second, 5}}, nil, 10, 99, upTo(10)},
		"up, two periods": {
			"the long period has spent its 6, the short one permits 2", up(most, pods(2, 10*time.Second), pods(6, minute)),
			[]past{{30 * time.Second, 6}}, nil, 10, 99, upTo(12),
		},
		"down, pods":    {"4 a minute", down(most, pods(4, minute)), nil, nil, 10, 1, downTo(6)},
		"down, percent": {"half of 5 cut off: 2 remain", down(most, percent(50, minute)), nil, nil, 5, 1, downTo(2)},
		"down, percent, little": {"10 % of 5 is 0.5, and 4.5 is cut to 4: a small count can fall",
			down(most, percent(10, minute)), nil, nil, 5, 1, downTo(4)},
		"down, max": {"the larger change: 4 or 10 % of 80", down(most, pods(4, minute), percent(10, minute)), nil,
			nil, 80, 10, downTo(72)},
		"down, max of few": {"at 30, 4 is more than 10 %", down(most, pods(4, minute), percent(10, minute)), nil, nil, 30,
			10, downTo(26)},
		"down, min": {"the smaller change", down(least, pods(4, minute), percent(10, minute)), nil, nil, 80, 10,
			downTo(76)},
		"down, disabled":     {"no change downwards", down(off, pods(4, minute)), nil, nil, 80, 10, downTo(80)},
		"down, disabled, up": {"upwards goes on", down(off, pods(4, minute)), nil, nil, 10, 15, free(15, 10+1<<20)},
		"down, no policies":  {"nothing permits a change", down(most), nil, nil, 10, 1, downTo(10)},
		"down, enough":       {"the proposal is within the rate", down(most, pods(4, minute)), nil, nil, 10, 7, free(7, 6)},
		"down, to min": {"min is 1", down(most, pods(40, minute)), nil, nil, 10, 0,
			behavior.Limited{Replicas: 1, Reason: behavior.TooFewReplicas, RateLimit: -30, Rated: true}},
		"down, spent": {"3 of 4 were removed in this minute", down(most, pods(4, minute)), nil,
			[]past{{30 * time.Second, 3}}, 10, 1, downTo(9)},
		"down, overspent": {"5 of 4 were removed: no further, but not back", down(most, pods(4, minute)), nil,
			[]past{{30 * time.Second, 5}}, 10, 1, downTo(10)},
		"down, after up": {"the period started with 8", down(most, pods(4, minute)), []past{{30 * time.Second, 2}}, nil,
			10, 1, downTo(4)},
		"no change proposed": {"no rate is asked", down(most, pods(4, minute)), nil, []past{{time.Second, 9}}, 10, 10,
			behavior.Limited{Replicas: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			events := behavior.History{Ups: changes(tt.ups...), Downs: changes(tt.downs...)}
			for _, set := range []divergence.Set{divergence.Default, divergence.None} {
				limits := behavior.Limits{MinReplicas: 1, MaxReplicas: 100, Behavior: tt.behavior, Divergences: set}
				got := behavior.Limit(&limits, &events, proposing(tt.current, tt.proposed))
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%v: %s (-want +got):\n%s", set, tt.reason, diff)
				}
			}
		})
	}
}

// TestLeaveZero: rate policies that permit no change from zero.
func TestLeaveZero(t *testing.T) {
	const minute = time.Minute
	for name, tt := range map[string]struct {
		reason string
		up     behavior.Rules
		ups    []past
		// upstream is the count without the divergence, desired the one with it.
		upstream, desired int32
	}{
		"percent": {
			"100 % of nothing is nothing", behavior.Rules{Policies: []behavior.RatePolicy{percent(100, minute)}}, nil, 0, 1,
		},
		"min": {
			"the smaller of 4 and nothing",
			behavior.Rules{Select: behavior.SelectMin, Policies: []behavior.RatePolicy{pods(4, minute), percent(100, minute)}},
			nil, 0, 1,
		},
		"spent": {
			"4 came and went within the minute", behavior.Rules{Policies: []behavior.RatePolicy{pods(4, minute)}},
			[]past{{30 * time.Second, 4}}, 0, 1,
		},
		"pods":     {"4 are permitted", behavior.Rules{Policies: []behavior.RatePolicy{pods(4, minute)}}, nil, 4, 4},
		"disabled": {"switched off is not a rate", behavior.Rules{Select: behavior.SelectDisabled}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			limits := behavior.Limits{MaxReplicas: 10, Behavior: rates(tt.up, unlimited()), Divergences: divergence.Default}
			events := behavior.History{Ups: changes(tt.ups...)}
			got := behavior.Limit(&limits, &events, proposing(0, 9))
			if got.Replicas != tt.desired || got.LeftZero != (tt.desired != tt.upstream) {
				t.Errorf("got %d, left zero %v: %s", got.Replicas, got.LeftZero, tt.reason)
			}
			limits.Divergences &^= divergence.LeaveZero
			if got := behavior.Limit(&limits, &events, proposing(0, 9)); got.Replicas != tt.upstream || got.LeftZero {
				t.Errorf("got %d, upstream stays at %d: %s", got.Replicas, tt.upstream, tt.reason)
			}
		})
	}
	t.Run("elsewhere a spent budget means none", func(t *testing.T) {
		limits := behavior.Limits{
			MaxReplicas: 10, Divergences: divergence.Default,
			Behavior: rates(behavior.Rules{Policies: []behavior.RatePolicy{pods(1, minute)}}, unlimited()),
		}
		events := behavior.History{Ups: changes(past{time.Second, 1})}
		if got := behavior.Limit(&limits, &events, proposing(1, 9)); got.Replicas != 1 || got.LeftZero {
			t.Errorf("got %+v", got)
		}
	})
}

// TestRateOverflow: a policy with the largest value that validation permits does not overflow.
func TestRateOverflow(t *testing.T) {
	const minute = time.Minute
	for name, policies := range map[string][]behavior.RatePolicy{
		"pods":    {pods(math.MaxInt32, minute)},
		"percent": {percent(math.MaxInt32, minute)},
	} {
		t.Run(name, func(t *testing.T) {
			limits := behavior.Limits{
				MinReplicas: 1, MaxReplicas: 1000, Divergences: divergence.Default,
				Behavior: rates(behavior.Rules{Policies: policies}, unlimited()),
			}
			if got := behavior.Limit(&limits, &behavior.History{}, proposing(200, 900)); got.Replicas != 900 {
				t.Errorf("got %d: the largest value means as many as you like", got.Replicas)
			}
			limits.Divergences = divergence.None
			if got := behavior.Limit(&limits, &behavior.History{}, proposing(200, 900)); got.Replicas != 200 {
				t.Errorf("got %d: upstream wraps below zero and stays", got.Replicas)
			}
		})
	}
}

// TestFreshValues: without behavior, values that were requested before the last raise of the count propose no double.
func TestFreshValues(t *testing.T) {
	for name, tt := range map[string]struct {
		reason                   string
		current, proposed, fresh int32
		set                      divergence.Set
		want                     int32
		wantReason               behavior.LimitReason
		isHeld                   bool
	}{
		"none is fresh": {"nothing knows of the 4", 4, 9, 0, divergence.Default, 4, behavior.ScaleUpLimit, true},
		"fresh proposes less": {"one that knows of the 4 proposes 6", 4, 9, 6, divergence.Default, 6,
			behavior.ScaleUpLimit, true},
		"fresh proposes more": {"the double is the limit", 4, 99, 9, divergence.Default, 8, behavior.ScaleUpLimit, false},
		"enough":              {"6 are proposed", 4, 6, 6, divergence.Default, 6, behavior.DesiredWithinRange, false},
		"upstream":            {"it doubles at every decision", 4, 99, 0, divergence.None, 8, behavior.ScaleUpLimit, false},
		"max":                 {"max is named", 10, 99, 0, divergence.Default, 10, behavior.TooManyReplicas, false},
		"min":                 {"min does not wait", 0, 1, 0, divergence.Default, 1, behavior.TooFewReplicas, false},
	} {
		limits := behavior.Limits{MinReplicas: 1, MaxReplicas: 10, Divergences: tt.set}
		if tt.proposed == 1 {
			limits.MinReplicas, tt.want = 2, 2
		}
		w := proposing(tt.current, tt.proposed)
		w.Fresh = tt.fresh
		got := behavior.Limit(&limits, &behavior.History{}, w)
		if got.Replicas != tt.want || got.Reason != tt.wantReason || got.IsDoublingHeld != tt.isHeld {
			t.Errorf("%s: %s: got %+v", name, tt.reason, got)
		}
	}
}

// TestUses: each policy's use of its period; none without behavior, or if the direction is switched off.
func TestUses(t *testing.T) {
	limits := behavior.Limits{MinReplicas: 1, MaxReplicas: 100, Behavior: rates(
		behavior.Rules{Policies: []behavior.RatePolicy{pods(4, time.Minute), percent(50, time.Hour)}},
		behavior.Rules{Select: behavior.SelectDisabled, Policies: []behavior.RatePolicy{pods(1, time.Minute)}},
	)}
	events := behavior.History{
		Ups: changes(past{30 * time.Minute, 4}, past{30 * time.Second, 2}), Downs: changes(past{time.Second, 1}),
	}
	want := []behavior.Use{
		{Policy: pods(4, time.Minute), Up: true, Start: 9, Permits: 13},
		{Policy: percent(50, time.Hour), Up: true, Start: 5, Permits: 8},
	}
	if diff := cmp.Diff(want, behavior.Uses(&limits, &events, proposing(10, 10), true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if uses := behavior.Uses(&limits, &events, proposing(10, 10), false); uses != nil {
		t.Errorf("disabled, and used: %v", uses)
	}
	limits.Behavior = nil
	if uses := behavior.Uses(&limits, &events, proposing(10, 10), true); uses != nil {
		t.Errorf("without behavior: %v", uses)
	}
}

// TestPendingOf: a write counts for the longest period of its direction.
func TestPendingOf(t *testing.T) {
	b := rates(behavior.Rules{Policies: []behavior.RatePolicy{pods(4, time.Minute), percent(50, time.Hour)}},
		behavior.Rules{Policies: []behavior.RatePolicy{pods(1, time.Second)}})
	for name, tt := range map[string]struct {
		b        *behavior.Behavior
		from, to int32
		want     behavior.Pending
	}{
		"up":       {b, 3, 5, behavior.Pending{Change: 2, Replicas: 5, Longest: time.Hour}},
		"down":     {b, 5, 3, behavior.Pending{Change: -2, Replicas: 3, Longest: time.Second}},
		"no rates": {nil, 5, 3, behavior.Pending{Change: -2, Replicas: 3}},
	} {
		if diff := cmp.Diff(tt.want, behavior.PendingOf(tt.b, tt.from, tt.to)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
