package update_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// crashing makes a pod run out of memory again and again.
func crashing(p *vertical.Pod, at time.Time) {
	p.Ready = false
	p.Containers[0].Waiting = true
	p.Containers[0].Crashed = vertical.Termination{
		OutOfMemory: true, Failed: true, Started: at.Add(-time.Minute), Finished: at,
	}
}

// If a pod's deletion hangs, the updater does not wait for its replacement: ten minutes after the eviction it continues
// with one of the other pods, and never has more of them unavailable than the budget permits beside it.
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

// Pods whose deletion hangs are unavailable: of four pods, of which two may be, no third one is evicted. Nor is it if
// the desired count is unknown.
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

// A StatefulSet creates its pods in order: while the first one runs out of memory, a missing one does not start. The
// first one is evicted half an hour later, and then the others get their requests.
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
	// The StatefulSet continues, and creates the missing pod.
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

// While the API server refuses new pods, no crashing pod is evicted if the workload's controller reports that, and
// otherwise one.
func TestRefusedPodsCostOneCrashedPod(t *testing.T) {
	for _, isReported := range []bool{true, false} {
		f := newFleet(vertical.ModeRecreate, 10, nil)
		f.pass()
		for i := range f.pods {
			crashing(&f.pods[i], f.now)
		}
		f.change = func(o *update.Observation) { o.Workload.FailedCreate = isReported }
		for range 24 * 60 {
			f.pass()
		}
		if want := map[bool]int{true: 1, false: 2}[isReported]; f.evicted != want || f.last.Circuit != reason.FailedCreate {
			t.Errorf("reported: %t: %d evicted, want %d, circuit %q", isReported, f.evicted, want, f.last.Circuit)
		}
	}
}

// A replacement that crashes for another reason does not prevent pods that ran out of memory earlier from getting more.
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
