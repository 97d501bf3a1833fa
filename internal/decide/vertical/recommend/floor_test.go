package recommend

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

const mi = 1 << 20

// week returns a workload that is busy by day, at midnight after a week.
func week(on divergence.Set) *workload {
	w := newWorkload(on, "app")
	for range 7 * 24 * 60 {
		w.byTheHour()
		w.pass()
	}
	return w
}

// byTheHour sets the usage to 1800m and 3.5 GiB by day, 100m and 700 MiB at night.
func (w *workload) byTheHour() {
	if hour := w.now.Hour(); hour >= 8 && hour < 20 {
		w.uses(1800, 3500*mi)
	} else {
		w.uses(100, 700*mi)
	}
}

func (w *workload) target() (cpu, memory vertical.Amount) {
	if len(w.decision.Recommendations) == 0 {
		return 0, 0
	}
	cpu, _ = w.decision.Recommendations[0].Target.Get(vertical.CPU)
	memory, _ = w.decision.Recommendations[0].Target.Get(vertical.Memory)
	return cpu, memory
}

// The history is lost while the workload is idle: the last recommendation stays for a day, until the busy hours are
// known again. This also holds over another restart, without pods, and without a checkpoint.
func TestLostHistoryLowersNothing(t *testing.T) {
	for why, lost := range map[string]func(w *workload) State{
		"damaged": func(w *workload) State {
			return State{}.Damaged("app", "unreadable").Resume(&w.policy, w.now, w.seen.Published)
		},
		"missing": func(w *workload) State { return State{}.Resume(&w.policy, w.now, w.seen.Published) },
		"without pods": func(w *workload) State {
			state := State{}.Resume(&w.policy, w.now, w.seen.Published)
			pods, containers := w.seen.Pods, w.seen.Containers
			w.seen.Pods, w.seen.Containers, w.seen.Samples = nil, nil, nil
			w.state = state
			w.pass()
			w.seen.Pods, w.seen.Containers = pods, containers
			return w.state
		},
	} {
		w := week(divergence.Default)
		cpu, memory := w.target()
		if cpu < 1800 || memory < 3500*mi {
			t.Fatalf("after a week: %dm, %d MiB", cpu, memory/mi)
		}
		w.state = lost(w)
		for minute := range 8*60 - 2 {
			if minute == 90 { // a restart that finds a checkpoint of an hour and a half
				saved, _ := w.state.Checkpoint(&w.policy, "app", w.now)
				state, err := State{}.Restore(&w.policy, "app", saved, w.now)
				if err != nil {
					t.Fatal(err)
				}
				w.state = state.Resume(&w.policy, w.now, w.seen.Published)
			}
			w.byTheHour()
			w.pass()
			if c, m := w.target(); c < cpu || m < memory {
				t.Fatalf("%s: %d minutes later %dm and %d MiB are recommended, before %dm and %d", why, minute, c, m/mi, cpu,
					memory/mi)
			}
			if got := w.condition(DamagedCheckpoint); !strings.HasPrefix(got, "True HistoryLost app: ") {
				t.Fatalf("%s: after %d minutes DamagedCheckpoint is %q", why, minute, got)
			}
		}
		for range 24 * 60 {
			w.uses(100, 700*mi)
			w.pass()
			w.state = Settle(&w.policy, w.state, Outcome{At: w.now, Saved: []string{"app"}})
		}
		if c, m := w.target(); c >= cpu || m >= memory {
			t.Errorf("%s: idle for a day and a half, %dm and %d MiB are recommended", why, c, m/mi)
		}
		w.pass()
		if got := w.condition(DamagedCheckpoint); got != "" {
			t.Errorf("%s: DamagedCheckpoint stays: %s", why, got)
		}
	}
}

// A permanent loss ends after a day as well: a container that is gone never has another checkpoint, and with the
// history from Prometheus no container has one.
func TestDamageEndsWithoutACheckpoint(t *testing.T) {
	for why, lost := range map[string]func(w *workload) State{
		"gone, and recommended for": func(w *workload) State {
			seen := *w.seen.Published
			seen.Recommendations = append(slices.Clone(seen.Recommendations),
				vertical.Recommendation{Container: "old", Target: vertical.Of(1, mi)})
			return w.state.Resume(&w.policy, w.now, &seen)
		},
		"gone, and damaged": func(w *workload) State { return w.state.Damaged("old", "unreadable") },
		"not in Prometheus": func(w *workload) State { return State{}.Resume(&w.policy, w.now, w.seen.Published) },
	} {
		w := week(divergence.Default)
		w.state = lost(w)
		for range 25 * 60 {
			w.byTheHour()
			w.pass()
			w.state = Settle(&w.policy, w.state, Outcome{At: w.now})
		}
		w.pass()
		if got := w.condition(DamagedCheckpoint); got != "" {
			t.Errorf("%s: after a day DamagedCheckpoint is %q", why, got)
		}
	}
}

// With the divergence off, the first sample at night determines the recommendation, as with upstream.
func TestLostHistoryWithoutDivergence(t *testing.T) {
	w := week(divergence.Default &^ divergence.LittleHistory)
	w.state = State{}.Damaged("app", "unreadable").Resume(&w.policy, w.now, w.seen.Published)
	w.uses(100, 700*mi)
	w.pass()
	if cpu, memory := w.target(); cpu > 200 || memory > 900*mi {
		t.Errorf("%dm and %d MiB", cpu, memory/mi)
	}
}

// The policy's caps apply, and a resource that is not controlled any more has no recommendation.
func TestFloorIsCapped(t *testing.T) {
	w := week(divergence.Default)
	w.policy.Containers = []vertical.ContainerPolicy{{
		Container: "app", MaxAllowed: vertical.Of(500, 1000*mi), Controlled: [vertical.Resources]bool{vertical.CPU: true},
	}}
	w.state = State{}.Resume(&w.policy, w.now, w.seen.Published)
	w.uses(100, 700*mi)
	w.pass()
	if cpu, memory := w.target(); cpu != 500 || memory != 0 {
		t.Errorf("%dm and %d MiB, want 500m alone", cpu, memory/mi)
	}
}

// A new object has a recommendation from its little history.
func TestNewObjectHasNoFloor(t *testing.T) {
	w := newWorkload(divergence.Default, "app")
	w.state = w.state.Resume(&w.policy, w.now, w.seen.Published)
	w.uses(1000, 2000*mi)
	w.lives(10 * time.Minute)
	w.uses(100, 700*mi)
	w.lives(12 * time.Hour)
	if cpu, _ := w.target(); cpu > 300 || w.condition(DamagedCheckpoint) != "" {
		t.Errorf("%dm, %s", cpu, w.condition(DamagedCheckpoint))
	}
}

// The clock of the leader's node is nine days ahead for a while: no history is dropped, and no empty one is saved.
func TestClockThatIsAheadForgetsNothing(t *testing.T) {
	for on, want := range map[divergence.Set]bool{
		divergence.Default: true, divergence.Default &^ divergence.SampleTime: false,
	} {
		w := newWorkload(on, "app")
		w.uses(1000, 2000*mi)
		w.lives(3 * 24 * time.Hour)
		before, _ := w.target()
		right := w.now
		w.now = w.now.Add(9 * 24 * time.Hour)
		w.seen.Samples = nil // samples have the times of other nodes' clocks
		w.pass()
		saved, _ := w.state.Checkpoint(&w.policy, "app", w.now)
		w.now = right
		w.uses(100, 300*mi)
		w.pass()
		cpu, _ := w.target()
		if kept := cpu == before && saved.Samples > 4000; kept != want {
			t.Errorf("with %s: from %dm to %dm, and %d samples to be saved", on, before, cpu, saved.Samples)
		}
	}
}

// The times of other containers' samples decide when a container that is gone is dropped.
func TestOldContainerIsForgottenBySamples(t *testing.T) {
	w := newWorkload(divergence.Default, "app", "old")
	w.uses(100, 200*mi)
	w.lives(time.Hour)
	w.has("app")
	w.uses(100, 200*mi)
	w.lives(9 * 24 * time.Hour)
	_, old := w.state.Checkpoint(&w.policy, "old", w.now)
	if _, app := w.state.Checkpoint(&w.policy, "app", w.now); old || !app {
		t.Errorf("old is remembered: %t, app: %t", old, app)
	}
}
