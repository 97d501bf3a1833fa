package update_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// crashing is a pod that runs out of memory again and again.
func crashing(p *vertical.Pod, at time.Time) {
	p.Ready = false
	p.Containers[0].Waiting = true
	p.Containers[0].Crashed = vertical.Termination{
		OutOfMemory: true, Failed: true, Started: at.Add(-time.Minute), Finished: at,
	}
}

// A pod that hangs in its deletion is lost, and no replacement is waited for: ten minutes after its eviction the other
// pods have their turn, one first, and no more at a time than may be away beside it.
func TestStuckDeletionHoldsTheOthersForAWhile(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace, f.hanging = admitted, 1
	for range 10 {
		f.pass()
	}
	if f.evicted != 1 {
		t.Fatalf("%d evicted within ten minutes", f.evicted)
	}
	for range 10 {
		f.pass()
	}
	if f.evicted != 10 || f.last.Circuit != reason.None {
		t.Errorf("%d evicted of 10, circuit %q", f.evicted, f.last.Circuit)
	}
}

// Pods whose deletion hangs are away: of four, of which two may be, no third one goes; nor where it is unknown whether
// there should be four.
func TestStuckDeletionsUseUpTheBudget(t *testing.T) {
	for name, countless := range map[string]*disruption.Replicas{"counted": nil,
		"countless": {}, "as found": {AsFound: true}} {
		f := newFleet(vertical.ModeRecreate, 4, nil)
		f.replace, f.hanging = admitted, 4
		f.change = func(o *update.Observation) {
			if countless != nil {
				o.Workload.Target = *countless
			}
		}
		for range 120 {
			f.pass()
		}
		if f.evicted != 2 || f.last.Pods[0].BlockedBy != reason.DisruptionBudget {
			t.Errorf("%s: %d evicted, %q", name, f.evicted, f.last.Pods[0].BlockedBy)
		}
	}
}

// A StatefulSet makes its pods one after the other: while the first one runs out of memory, a missing one does not
// come. The first one is evicted half an hour later, and then the rest is mended.
func TestCrashedPodOfAnOrderedStatefulSetIsReplaced(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 3, nil)
	f.pass() // web-0001 is evicted, and is not created again.
	for i := range f.pods {
		crashing(&f.pods[i], f.now)
	}
	for range 34 {
		f.pass()
	}
	if f.evicted != 1 || f.last.Circuit != reason.FailedCreate {
		t.Fatalf("%d evicted within half an hour, circuit %q", f.evicted, f.last.Circuit)
	}
	f.replace = admitted
	for range 3 {
		f.pass()
	}
	if f.evicted != 2 {
		t.Fatalf("%d evicted after half an hour", f.evicted)
	}
	// The set goes on, and makes what was missing.
	pod := f.pod(f.now)
	admitted(&pod)
	f.pods = append(f.pods, pod)
	for range 5 {
		f.pass()
	}
	if f.evicted != 3 || f.last.Circuit != reason.None {
		t.Errorf("%d evicted in the end, circuit %q", f.evicted, f.last.Circuit)
	}
}

// Where new pods are refused, a workload loses no pod that crashes if its owner says so, and one if not.
func TestRefusedPodsCostOneCrashedPod(t *testing.T) {
	for _, said := range []bool{true, false} {
		f := newFleet(vertical.ModeRecreate, 10, nil)
		f.pass()
		for i := range f.pods {
			crashing(&f.pods[i], f.now)
		}
		f.change = func(o *update.Observation) { o.Workload.FailedCreate = said }
		for range 24 * 60 {
			f.pass()
		}
		if want := map[bool]int{true: 1, false: 2}[said]; f.evicted != want || f.last.Circuit != reason.FailedCreate {
			t.Errorf("its owner says so: %t: %d evicted, want %d, circuit %q", said, f.evicted, want, f.last.Circuit)
		}
	}
}

// A replacement that crashes for a reason of its own does not keep the pods that ran out of memory before from what
// they need.
func TestCrashedPodsAreReplacedBesideACrashingReplacement(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 4, nil)
	f.replace = func(p *vertical.Pod) { admitted(p); crashing(p, p.Created.Add(time.Minute)) }
	f.pass()
	for i := range f.pods[:2] {
		crashing(&f.pods[i], f.now)
	}
	for range 30 {
		f.pass()
	}
	if f.evicted != 1 || f.last.Circuit != reason.CircuitOpen {
		t.Fatalf("%d evicted, circuit %q", f.evicted, f.last.Circuit)
	}
	for range 5 {
		f.pass()
	}
	if f.evicted != 2 {
		t.Errorf("%d evicted", f.evicted)
	}
}
