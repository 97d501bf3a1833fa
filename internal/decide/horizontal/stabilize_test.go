package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
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

func checkStabilized(t *testing.T, p horizontal.Policy, rows map[string]stabilizeRow) {
	t.Helper()
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			o := see(tt.current, length(tt.proposed))
			d, _ := horizontal.Decide(noon, &p, remembering(tt.history...), &o)
			if diff := cmp.Diff(tt.want, stabilizedOf(d.Stabilized), cmp.AllowUnexported(past{})); diff != "" {
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
	checkStabilized(t, policy(1, 100), map[string]stabilizeRow{
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
	p := policy(1, 100)
	p.Behavior = rates(unlimited(), unlimited())
	p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization = upWindow, downWindow
	free := func(n int32) stabilized { return stabilized{Replicas: n} }
	up := func(n int32, by past) stabilized {
		return stabilized{n, behavior.ScaleUpStabilized, by, upWindow}
	}
	down := func(n int32, by past) stabilized {
		return stabilized{n, behavior.ScaleDownStabilized, by, downWindow}
	}
	checkStabilized(t, p, map[string]stabilizeRow{
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
	for between, want := range map[trigger.Kind]int32{trigger.Samples: 10, trigger.Periodic: 5} {
		p := policy(1, 100)
		p.Behavior = rates(unlimited(), unlimited())
		p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization = time.Minute, 5*time.Minute
		o := see(5, length(4))
		o.Trigger = between
		s := remembering(past{2 * time.Minute, 5}, past{30 * time.Second, 10})
		_, s = horizontal.Decide(noon.Add(-20*time.Second), &p, s, &o)
		o = see(5, length(10))
		o.Trigger = trigger.Periodic
		if d, _ := horizontal.Decide(noon, &p, s, &o); d.Desired != want {
			t.Errorf("4 were asked for by %s: %d, want %d", between, d.Desired, want)
		}
	}
}

// TestStabilizedReasonFollowsTheWish: with behavior the direction of the proposal determines the reason, as with
// upstream.
func TestStabilizedReasonFollowsTheWish(t *testing.T) {
	p := policy(1, 100)
	p.Behavior = rates(unlimited(), unlimited())
	p.Behavior.Down.Stabilization = time.Minute
	o := see(9, length(3))
	d, _ := horizontal.Decide(noon, &p, remembering(past{30 * time.Second, 9}), &o)
	if d.Stabilized.Reason != behavior.ScaleDownStabilized || d.Rescale {
		t.Errorf("got %v, %d", d.Stabilized.Reason, d.Desired)
	}
}

// TestLongestWindowIsKept: after an edit that swaps the windows, the entries of the longer one are still there.
func TestLongestWindowIsKept(t *testing.T) {
	p := policy(1, 100)
	p.Behavior = rates(unlimited(), unlimited())
	p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization = 10*time.Minute, 0
	o := see(9, length(9))
	_, s := horizontal.Decide(noon.Add(-5*time.Minute), &p, remembering(past{8 * time.Minute, 9}), &o)
	p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization = 0, 10*time.Minute
	o = see(9, length(3))
	if d, _ := horizontal.Decide(noon, &p, s, &o); d.Stabilized.Replicas != 9 {
		t.Errorf("got %d: the window of the other direction kept the entry", d.Stabilized.Replicas)
	}
}
