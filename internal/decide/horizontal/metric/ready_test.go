package metric

import (
	"testing"
	"time"
)

// TestReadyPods: a new pod has a share of the load once it is ready, an older one also while it is not ready.
func TestReadyPods(t *testing.T) {
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	young, recently := noon.Add(-5*time.Minute), noon.Add(-20*time.Second)
	old := Pod{Phase: PhaseRunning, Ready: ReadyTrue, StartTime: noon.Add(-time.Hour), ReadyTransition: noon.Add(-time.Hour)}
	overloaded, back := old, old
	overloaded.Ready, overloaded.ReadyTransition = ReadyFalse, recently
	back.ReadyTransition = noon.Add(-time.Second)
	fresh := Pod{Phase: PhaseRunning, Ready: ReadyTrue, StartTime: noon.Add(-time.Minute), ReadyTransition: recently}
	starting, leaving := fresh, old
	starting.Ready, leaving.Deleting = ReadyFalse, true
	n, since := ReadyPods([]Pod{old, overloaded, back, fresh, starting, leaving, {Phase: PhasePending}}, young)
	if n != 4 || !since.Equal(recently.Add(time.Second)) {
		t.Errorf("%d pods since %v, want 4 since a second after %v", n, since, recently)
	}
}
