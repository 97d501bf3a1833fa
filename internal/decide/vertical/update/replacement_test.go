package update_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

const mebibyte = 1 << 20

// fleet plays passes over a workload whose pods request less than the recommendation.
type fleet struct {
	policy update.Policy
	state  update.State
	now    time.Time
	size   int
	pods   []vertical.Pod
	made   int
	// replace makes the replacement a few seconds after an eviction; nil for none.
	replace func(*vertical.Pod)
	// outcome is the result of resizes.
	outcome update.Outcome
	// hanging is the number of further evicted pods whose deletion hangs, so that no replacement starts.
	hanging int
	deleted []time.Time
	change  func(*update.Observation)
	// evicted and resized count the changes.
	evicted, resized int
	last             update.Decision
}

func newFleet(mode vertical.Mode, size int, shape func(int, *vertical.Pod)) *fleet {
	f := &fleet{policy: update.DefaultPolicy(), now: epoch, size: size}
	f.policy.Mode = mode
	for i := range size {
		pod := f.pod(f.now.Add(-24 * time.Hour))
		if shape != nil {
			shape(i, &pod)
		}
		f.pods = append(f.pods, pod)
	}
	return f
}

func (f *fleet) pod(created time.Time) vertical.Pod {
	f.made++
	name := fmt.Sprintf("web-%04d", f.made)
	own := vertical.Resized{Requests: vertical.Of(100, 100*mebibyte), Limits: vertical.Of(200, 200*mebibyte)}
	return vertical.Pod{
		UID: name, Namespace: "shop", Name: name, Creator: "ReplicaSet/web-1", Node: "node", Created: created,
		Started: created,
		Ready:   true, ReadySince: created, QoS: vertical.Burstable, Generation: 1,
		Containers: []vertical.PodContainer{{Name: "app", Requests: own.Requests, Limits: own.Limits, Spec: own}},
	}
}

func (f *fleet) observation() *update.Observation {
	o := &update.Observation{
		Recommended: []vertical.Recommendation{{
			Container: "app", Target: vertical.Of(500, 500*mebibyte), Lower: vertical.Of(400, 400*mebibyte),
			Upper: vertical.Of(900, 900*mebibyte),
		}},
		Pods: f.pods,
		Workload: disruption.Workload{
			Creators:    map[string]disruption.Replicas{"ReplicaSet/web-1": {Configured: f.size}},
			Target:      disruption.Replicas{Configured: f.size},
			Terminating: f.deleted,
		},
		Cluster: update.Cluster{Nodes: map[string]resize.Node{"node": {Known: true, Linux: true, Resizes: true,
			Allocatable: vertical.Of(1000000, 1<<50)}}},
	}
	if f.change != nil {
		f.change(o)
	}
	return o
}

// pass plays one pass, and advances the time by a minute.
func (f *fleet) pass() {
	var d update.Decision
	d, f.state = update.Decide(f.now, &f.policy, f.state, f.observation())
	gone := map[string]bool{}
	d.Play(&f.state, &resize.Claims{}, func(a update.Action) update.Result {
		outcome := update.Done
		if a.Kind == update.Resize {
			outcome = f.outcome
		}
		switch {
		case a.Kind == update.Evict:
			gone[a.Pod.UID] = true
		case outcome == update.Done:
			f.resized++
		}
		return update.Result{Outcome: outcome, At: f.now}
	})
	f.evicted += len(gone)
	var rest []vertical.Pod
	for _, pod := range f.pods {
		if !gone[pod.UID] {
			rest = append(rest, pod)
		}
	}
	for range len(gone) {
		if f.hanging > 0 {
			f.hanging--
			f.deleted = append(f.deleted, f.now.Add(30*time.Second))
			continue
		}
		if f.replace != nil {
			pod := f.pod(f.now.Add(2 * time.Second))
			f.replace(&pod)
			rest = append(rest, pod)
		}
	}
	f.pods, f.last, f.now = rest, d, f.now.Add(time.Minute)
}

// admitted gives a new pod the recommendation, as admission does.
func admitted(pod *vertical.Pod) {
	pod.Admitted, pod.HasObserved, pod.Observed = true, true, []string{"app"}
	c := &pod.Containers[0]
	c.Requests, c.Limits = vertical.Of(500, 500*mebibyte), vertical.Of(1000, 1000*mebibyte)
	c.Spec = vertical.Resized{Requests: c.Requests, Limits: c.Limits}
}

func unseen(*vertical.Pod) {}

// With any fault of replacements, a workload loses at most one pod before the circuit opens.
func TestOneReplacementMustComeUpFirst(t *testing.T) {
	for name, c := range map[string]struct {
		replace func(*vertical.Pod)
		want    reason.Reason
	}{
		"admission does not see it": {unseen, reason.NotAdmitted},
		"another webhook undoes it": {func(p *vertical.Pod) {
			p.Admitted, p.HasObserved, p.Observed = true, true,
				[]string{"app"}
		}, reason.NotAdmitted},
		"the API server refuses it": {nil, reason.FailedCreate},
		"it never becomes ready":    {func(p *vertical.Pod) { admitted(p); p.Ready = false }, reason.CircuitOpen},
		"it waits for a node": {func(p *vertical.Pod) { admitted(p); p.Ready, p.Node, p.Pending = false, "", true },
			reason.CircuitOpen},
		"no part of it can be read": {func(p *vertical.Pod) { p.Ready, p.Node, p.Pending = false, "", true },
			reason.NotAdmitted},
		"it ends with errors always": {func(p *vertical.Pod) {
			admitted(p)
			p.Ready = false
			p.Containers[0].Waiting, p.Containers[0].Crashed = true,
				vertical.Termination{Failed: true, Finished: p.Created.Add(time.Minute)}
		}, reason.CircuitOpen},
	} {
		for _, mode := range []vertical.Mode{vertical.ModeRecreate, vertical.ModeInPlaceOrRecreate} {
			for _, size := range []int{2, 4, 10, 100} {
				f := newFleet(mode, size, nil)
				f.replace = c.replace
				f.change = func(o *update.Observation) { o.Cluster.Unsupported = true }
				for range 25 {
					f.pass()
				}
				if f.evicted != 1 || f.last.Circuit != c.want {
					t.Errorf("%s, mode %s, %d pods: %d evicted, circuit %q, want %q", name, mode, size, f.evicted, f.last.Circuit,
						c.want)
				}
			}
		}
	}
}

// The pause after a replacement that started without the recommendation doubles: a workload loses six pods in a day,
// where it lost 7,200.
func TestPausesBetweenFruitlessEvictionsGrow(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = unseen
	for range 24 * 60 {
		f.pass()
	}
	if f.evicted != 6 {
		t.Errorf("%d evicted in a day", f.evicted)
	}
	for range 14 * 24 * 60 {
		f.pass()
	}
	if f.evicted < 15 || f.evicted > 21 {
		t.Errorf("%d evicted in fifteen days, want about one a day", f.evicted)
	}
	// Admission works again, and the next pod shows it: the rest follows at the budget's pace.
	f.replace = admitted
	for range 25 * 60 {
		f.pass()
	}
	if f.last.Circuit != reason.None || f.last.Pods[0].BlockedBy != reason.NothingChanges {
		t.Errorf("circuit %q, %q", f.last.Circuit, f.last.Pods[0].BlockedBy)
	}
}

// If admission works, a workload of ten is done after four passes: one pod, then half, then the rest.
func TestReplacementsThatComeUpOpenTheWay(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = admitted
	var evicted []int
	for range 4 {
		before := f.evicted
		f.pass()
		evicted = append(evicted, f.evicted-before)
	}
	if got := fmt.Sprint(evicted); got != "[1 5 4 0]" {
		t.Errorf("evicted by pass: %s", got)
	}
}

// A recommendation that changes while pods are replaced does not count as a failure of admission.
func TestMovingRecommendationIsNoFailure(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	target := vertical.Amount(500)
	f.replace = func(p *vertical.Pod) {
		admitted(p)
		p.Containers[0].Requests = vertical.Of(target, 500*mebibyte)
	}
	f.change = func(o *update.Observation) {
		rec := &o.Recommended[0]
		rec.Target, rec.Lower, rec.Upper = vertical.Of(target, 500*mebibyte), vertical.Of(target, 400*mebibyte),
			vertical.Of(target, 900*mebibyte)
	}
	for range 60 {
		f.pass()
		if f.last.Circuit != reason.None {
			t.Fatalf("circuit %q at %s", f.last.Circuit, f.now)
		}
		target += 50
	}
}

// Another process continues the pause.
func TestPauseSurvivesARestart(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, nil)
	f.replace = unseen
	f.pass()
	// The process ends after the eviction, before it has seen the replacement.
	f.state = update.State{}
	f.change = func(o *update.Observation) { o.Past = disruption.Past{Updating: true} }
	f.pass()
	if f.evicted != 1 || f.last.Circuit != reason.NotAdmitted {
		t.Errorf("%d evicted, circuit %q", f.evicted, f.last.Circuit)
	}
	f.state = update.State{}
	f.change = func(o *update.Observation) { o.Past = disruption.Past{NotAdmitted: true} }
	for range 29 {
		f.pass()
	}
	if f.evicted != 1 || f.last.Circuit != reason.NotAdmitted {
		t.Errorf("after half an hour: %d evicted, circuit %q", f.evicted, f.last.Circuit)
	}
}

// A workload was created just before its recommendation, and one of its pods was replaced. A new process does not treat
// the other pods as replacements without admission, while the one that crashes keeps the circuit open.
func TestYoungPodsAreNoReplacements(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 4, func(_ int, p *vertical.Pod) { p.Created = epoch.Add(-5 * time.Second) })
	f.replace = func(p *vertical.Pod) {
		admitted(p)
		p.Containers[0].Waiting = true
		p.Containers[0].Crashed = vertical.Termination{Failed: true, Started: p.Created, Finished: p.Created.Add(time.Second)}
	}
	f.pass()
	f.state = update.State{}
	f.change = func(o *update.Observation) { o.Past = disruption.Past{Updating: true} }
	for range 3 {
		if f.pass(); f.evicted != 1 || f.last.Circuit != reason.CircuitOpen {
			t.Errorf("%d evicted, circuit %q", f.evicted, f.last.Circuit)
		}
	}
}

// Pods that are not ready for another reason still count: if all are, none is evicted, and if some are, at most as many
// as may be unavailable.
func TestUnreadyPodsTakeFromTheBudget(t *testing.T) {
	for _, size := range []int{3, 10, 100} {
		for tenths, want := range map[int]int{0: size / 2, 3: size/2 - 3*size/10, 10: 0} {
			f := newFleet(vertical.ModeRecreate, size, func(i int, p *vertical.Pod) { p.Ready = i >= tenths*size/10 })
			f.policy.Divergences &^= divergence.CircuitBreaker
			f.pass()
			if f.evicted != want {
				t.Errorf("%d of %d pods are not ready: %d evicted, want %d", tenths*size/10, size, f.evicted, want)
			}
		}
	}
}

// If all pods run out of memory, a pass evicts as many as may be unavailable: they may need more memory.
func TestCrashedPodsGoInParts(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 10, func(_ int, p *vertical.Pod) {
		p.Ready = false
		p.Containers[0].Crashed = vertical.Termination{
			OutOfMemory: true, Failed: true, Started: epoch.Add(-2 * time.Minute), Finished: epoch.Add(-time.Minute),
		}
	})
	f.policy.Divergences &^= divergence.CircuitBreaker
	if f.pass(); f.evicted != 5 {
		t.Errorf("%d evicted", f.evicted)
	}
}

// A policy, a webhook or a quota that refuses a resize would also refuse a new pod: the resize is tried again later,
// and no pod is evicted. After other failures the pods are evicted in the end, one pod first.
func TestRefusedResizesAreWaitedFor(t *testing.T) {
	for outcome, want := range map[update.Outcome]int{update.Refused: 0, update.Failed: 1} {
		f := newFleet(vertical.ModeInPlaceOrRecreate, 10, nil)
		f.outcome = outcome
		f.change = func(o *update.Observation) {
			o.Cluster.Used = map[string]map[string]vertical.Amounts{}
			for i := range o.Pods {
				o.Cluster.Used[o.Pods[i].UID] = map[string]vertical.Amounts{"app": vertical.Of(1, mebibyte)}
			}
		}
		for range 180 {
			f.pass()
		}
		if f.evicted != want {
			t.Errorf("outcome %d: %d evicted, want %d", outcome, f.evicted, want)
		}
	}
}

// A quota without room for the recommendation blocks every change, in mode Recreate too.
func TestQuotaIsAskedBeforeAnEviction(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 4, nil)
	f.change = func(o *update.Observation) {
		o.Cluster.Quotas = []resize.Quota{{Requests: vertical.Of(300, 8<<30)}}
	}
	if f.pass(); f.evicted != 0 || f.last.Pods[0].BlockedBy != reason.ResourceQuota {
		t.Errorf("%d evicted, %q", f.evicted, f.last.Pods[0].BlockedBy)
	}
}

// A DaemonSet's maxUnavailable applies.
func TestMaxUnavailableOfADaemonSetHolds(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 1000, nil)
	f.replace = admitted
	f.change = func(o *update.Observation) {
		o.Workload.Target.HasMaxUnavailable, o.Workload.Target.MaxUnavailable = true, 3
	}
	f.pass()
	for range 5 {
		before := f.evicted
		if f.pass(); f.evicted-before != 3 {
			t.Errorf("%d evicted in a pass", f.evicted-before)
		}
	}
}

// A start-up boost ends below minReplicas too, without an eviction.
func TestBoostEndsBelowMinReplicas(t *testing.T) {
	f := newFleet(vertical.ModeRecreate, 1, func(_ int, p *vertical.Pod) {
		p.Containers[0].Boosted = &vertical.Resized{Requests: vertical.Of(100, 100*mebibyte)}
	})
	f.policy.HasBoost, f.policy.Boost = true, &vertical.Boost{Factor: 2, Duration: time.Minute}
	d, state := update.Decide(f.now, &f.policy, f.state, f.observation())
	var kinds []update.Kind
	d.EndBoosts(&state, func(a update.Action) update.Result {
		kinds = append(kinds, a.Kind)
		return update.Result{At: f.now}
	})
	if !slices.Equal(kinds, []update.Kind{update.Unboost}) {
		t.Fatalf("the boost ends by %v", kinds)
	}
	if f.pass(); f.evicted != 0 {
		t.Error("a pod below minReplicas is evicted")
	}
}
