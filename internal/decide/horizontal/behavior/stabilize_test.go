package behavior_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// stabilized has the values that the tables compare: the count, the reason and the age of the entry that keeps it.
type stabilized struct {
	Replicas int32
	Reason   behavior.StabilizedReason
	By       past
	Window   time.Duration
}

func stabilizedOf(s behavior.Stabilized) stabilized {
	got := stabilized{Replicas: s.Replicas, Reason: s.Reason, Window: s.Window}
	if s.By != (history.Recommendation{}) {
		got.By = past{noon.Sub(s.By.Time), s.By.Replicas}
	}
	return got
}

type stabilizeRow struct {
	reason            string
	history           []past
	current, proposed int32
	want              stabilized
}

// remembering returns a history of these recommendations, oldest first.
func remembering(entries ...past) *behavior.History {
	var r history.Recommendations
	for _, e := range entries {
		r.Add(noon.Add(-e.ago), e.replicas)
	}
	return &behavior.History{Recommendations: &r}
}

// windows returns limits with these stabilization windows, and no rates.
func windows(up, down time.Duration) *behavior.Limits {
	b := rates(unlimited(), unlimited())
	b.Up.Stabilization, b.Down.Stabilization = up, down
	return &behavior.Limits{MinReplicas: 1, MaxReplicas: 100, Behavior: b, Divergences: divergence.Default}
}

func checkStabilized(t *testing.T, l *behavior.Limits, rows map[string]stabilizeRow) {
	t.Helper()
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			got := behavior.Stabilize(l, remembering(tt.history...), proposing(tt.current, tt.proposed))
			if diff := cmp.Diff(tt.want, stabilizedOf(got), cmp.AllowUnexported(past{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// TestStabilizeWithoutBehavior: the highest proposal of the flag's window applies.
func TestStabilizeWithoutBehavior(t *testing.T) {
	const window = 5 * time.Minute
	free := func(n int32) stabilized { return stabilized{Replicas: n, Window: window} }
	held := func(by past) stabilized {
		return stabilized{by.replicas, behavior.ScaleDownStabilized, by, window}
	}
	limits := behavior.Limits{
		MinReplicas: 1, MaxReplicas: 100, DownscaleStabilization: window, Divergences: divergence.Default,
	}
	checkStabilized(t, &limits, map[string]stabilizeRow{
		"up":   {"upwards there is no window", []past{{time.Minute, 3}}, 3, 9, free(9)},
		"down": {"the highest holds", []past{{time.Minute, 6}}, 6, 2, held(past{time.Minute, 6})},
		"down in part": {"5 is the highest left", []past{{6 * time.Minute, 9}, {time.Minute, 5}}, 9, 2,
			held(past{time.Minute, 5})},
		"older hidden": {"a later, higher proposal hides an earlier one", []past{{2 * time.Minute, 5}, {time.Minute, 6}},
			6, 2, held(past{time.Minute, 6})},
		"later lower": {"but not an earlier, higher one", []past{{2 * time.Minute, 6}, {time.Minute, 5}}, 6, 2,
			held(past{2 * time.Minute, 6})},
		"equal": {"of equals the later lasts longer", []past{{2 * time.Minute, 6}, {time.Minute, 6}}, 6, 2,
			held(past{time.Minute, 6})},
		"at the edge":   {"exactly as old as the window counts", []past{{window, 6}}, 6, 2, held(past{window, 6})},
		"over the edge": {"a nanosecond older does not", []past{{window + 1, 6}}, 6, 2, free(2)},
		"up by history": {"upstream scales up to an old proposal that rate or bounds held back", []past{{time.Minute, 9}},
			3, 3, held(past{time.Minute, 9})},
		"the same proposed": {"an equal proposal needs no holding", []past{{time.Minute, 3}}, 5, 3, free(3)},
	})
}

// TestStabilizeWithBehavior: the count lies between the lowest proposal of one window and the highest of the other.
func TestStabilizeWithBehavior(t *testing.T) {
	const upWindow, downWindow = time.Minute, 5 * time.Minute
	free := func(n int32) stabilized { return stabilized{Replicas: n} }
	up := func(n int32, by past) stabilized {
		return stabilized{n, behavior.ScaleUpStabilized, by, upWindow}
	}
	down := func(n int32, by past) stabilized {
		return stabilized{n, behavior.ScaleDownStabilized, by, downWindow}
	}
	checkStabilized(t, windows(upWindow, downWindow), map[string]stabilizeRow{
		"up": {"nothing lower in the window", []past{{2 * time.Minute, 3}}, 3, 9, free(9)},
		"up held": {"the lowest proposal of the last minute holds the count", []past{{30 * time.Second, 3}}, 3, 9,
			up(3, past{30 * time.Second, 3})},
		"up in part": {"5 is the lowest of the last minute", []past{{30 * time.Second, 5}}, 3, 9,
			up(5, past{30 * time.Second, 5})},
		"up, lower still": {"a lower proposal does not push the count down", []past{{30 * time.Second, 1}}, 3, 9,
			up(3, past{30 * time.Second, 1})},
		"up at the edge": {"exactly as old as the window does not count", []past{{upWindow, 3}}, 3, 9, free(9)},
		"up in the edge": {"a nanosecond younger does", []past{{upWindow - 1, 3}}, 3, 9, up(3, past{upWindow - 1, 3})},
		"down":           {"nothing higher in the window", []past{{6 * time.Minute, 9}}, 9, 3, free(3)},
		"down held": {"the highest of five minutes holds", []past{{4 * time.Minute, 9}}, 9, 3,
			down(9, past{4 * time.Minute, 9})},
		"down in part": {"6 is the highest left", []past{{4 * time.Minute, 6}}, 9, 3, down(6, past{4 * time.Minute, 6})},
		"down, higher": {"a higher proposal does not push the count up: unlike without behavior",
			[]past{{4 * time.Minute, 12}}, 9, 3, down(9, past{4 * time.Minute, 12})},
		"down at the edge": {
			"exactly as old as the window does not count", []past{{downWindow, 9}}, 9, 3, free(3),
		},
		"down in the edge": {
			"a nanosecond younger does", []past{{downWindow - 1, 9}}, 9, 3, down(9, past{downWindow - 1, 9}),
		},
		"same": {
			"a proposal of the count as it is: an old, higher one does not move it", []past{{30 * time.Second, 9}}, 3, 3,
			free(3),
		},
		"between": {
			"both windows at once: 3 is neither below the lowest nor above the highest",
			[]past{{40 * time.Second, 1}, {20 * time.Second, 9}}, 3, 5,
			up(3, past{40 * time.Second, 1}),
		},
	})
}

// TestUpWindowAsOftenAsUpstream: a scale-up window does not use proposals between two sync periods. The lowest of many
// proposals is lower, and a load that comes and goes would never get its pods.
func TestUpWindowAsOftenAsUpstream(t *testing.T) {
	for isBetween, want := range map[bool]int32{true: 10, false: 5} {
		limits, h := windows(time.Minute, 5*time.Minute), remembering(past{2 * time.Minute, 5}, past{30 * time.Second, 10})
		w := proposing(5, 4)
		w.Now, w.IsBetween = noon.Add(-20*time.Second), isBetween
		behavior.Stabilize(limits, h, w)
		if got := behavior.Stabilize(limits, h, proposing(5, 10)); got.Replicas != want {
			t.Errorf("4 were asked for, between sync periods: %t: %d, want %d", isBetween, got.Replicas, want)
		}
	}
}

// TestStabilizedReason: with behavior the direction of the proposal determines the reason, as with upstream.
func TestStabilizedReason(t *testing.T) {
	limits := windows(0, time.Minute)
	got := behavior.Stabilize(limits, remembering(past{30 * time.Second, 9}), proposing(9, 3))
	if got.Reason != behavior.ScaleDownStabilized || got.Replicas != 9 || got.IsDisabled {
		t.Errorf("got %+v", got)
	}
	limits.Behavior.Down.Select = behavior.SelectDisabled
	if got := behavior.Stabilize(limits, remembering(past{30 * time.Second, 9}), proposing(9, 3)); !got.IsDisabled {
		t.Errorf("scaling down is disabled: %+v", got)
	}
	limits.Behavior.Up.Stabilization = time.Minute
	if got := behavior.Stabilize(limits, remembering(past{30 * time.Second, 3}), proposing(3, 9)); got.IsDisabled ||
		got.Reason != behavior.ScaleUpStabilized {
		t.Errorf("only scaling down is disabled: %+v", got)
	}
}

// TestLongestWindowIsKept: after an edit that swaps the windows, the entries of the longer one are still there.
func TestLongestWindowIsKept(t *testing.T) {
	h := remembering(past{8 * time.Minute, 9})
	w := proposing(9, 9)
	w.Now = noon.Add(-5 * time.Minute)
	behavior.Stabilize(windows(10*time.Minute, 0), h, w)
	if got := behavior.Stabilize(windows(0, 10*time.Minute), h, proposing(9, 3)); got.Replicas != 9 {
		t.Errorf("got %d: the window of the other direction kept the entry", got.Replicas)
	}
}

// TestPassing: the part of a proposal that only the surge window asked for keeps the count for the passing window, and
// the rest for the whole one.
func TestPassing(t *testing.T) {
	for name, limits := range map[string]*behavior.Limits{
		"with behavior": windows(0, 5*time.Minute),
		"without": {
			MinReplicas: 1, MaxReplicas: 100, DownscaleStabilization: 5 * time.Minute, Divergences: divergence.Default,
		},
	} {
		h := remembering()
		w := proposing(9, 9)
		w.Now, w.Passing, w.PassingWindow = noon.Add(-20*time.Second), 4, 30*time.Second
		behavior.Stabilize(limits, h, w)
		w = proposing(9, 3)
		w.PassingWindow = 30 * time.Second
		if got := behavior.Stabilize(limits, h, w); got.Replicas != 9 || !got.IsPassing || got.Window != 30*time.Second {
			t.Errorf("%s, after 20 s: %+v", name, got)
		}
		w.Now = noon.Add(20 * time.Second)
		if got := behavior.Stabilize(limits, h, w); got.Replicas != 5 || got.IsPassing || got.Window != 5*time.Minute {
			t.Errorf("%s, after 40 s: %+v", name, got)
		}
	}
}

// TestPassingIsLimited: without behavior a passing proposal is stored as far as the count follows it at once.
func TestPassingIsLimited(t *testing.T) {
	limits := &behavior.Limits{
		MinReplicas: 1, MaxReplicas: 100, DownscaleStabilization: 5 * time.Minute, Divergences: divergence.Default,
	}
	h, w := remembering(), proposing(2, 9)
	w.Passing, w.PassingWindow = 6, 30*time.Second
	behavior.Stabilize(limits, h, w)
	w = proposing(4, 3)
	w.PassingWindow = 30 * time.Second
	if got := behavior.Stabilize(limits, h, w); got.Replicas != 4 || !got.IsPassing {
		t.Errorf("got %+v: 9 would raise the count that 4 keeps", got)
	}
}

// TestRemember: upstream overwrites one entry that is in no window, and keeps the others.
func TestRemember(t *testing.T) {
	old := history.Recommendation{Time: noon.Add(-time.Hour), Replicas: 1}
	latest := history.Recommendation{Time: noon, Replicas: 3}
	r := history.Recommendations{Slots: []history.Recommendation{old, old}}
	behavior.Remember(&r, divergence.None, latest, noon.Add(-time.Minute))
	if diff := cmp.Diff([]history.Recommendation{old, latest}, r.Slots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r = *remembering(past{time.Hour, 1}, past{time.Second, 2}).Recommendations
	behavior.Remember(&r, divergence.Default, latest, noon.Add(-time.Minute))
	if low, ok := r.Lowest(func(time.Time) bool { return true }); !ok || low.Replicas != 2 || r.Slots != nil {
		t.Errorf("the entry of an hour ago is kept: %+v", r)
	}
}
