package resize

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestStalled checks how long upstream and the divergences wait in each state.
func TestStalled(t *testing.T) {
	never := time.Duration(-1)
	for status, after := range map[vertical.ResizeStatus]struct{ upstream, plimsoll time.Duration }{
		vertical.ResizeNone:       {never, never},
		vertical.ResizeDeferred:   {5 * time.Minute, 5 * time.Minute},
		vertical.ResizeInfeasible: {0, 0},
		vertical.ResizeInProgress: {time.Hour, time.Hour},
		vertical.ResizeError:      {0, 5 * time.Minute},
		vertical.ResizeUnknown:    {0, 5 * time.Minute},
	} {
		for d, want := range map[divergence.Set]time.Duration{
			divergence.None: after.upstream, divergence.Default: after.plimsoll,
		} {
			s, pod := State{}.Clone(), vertical.Pod{UID: "1", Name: "web", Resize: status}
			at := func(later time.Duration) bool { return s.ObserveProgress(epoch.Add(later), &pod, d) }
			if first := at(0); first != (want == 0) {
				t.Errorf("%s, %s: at once %t", status, d, first)
			}
			if want > 0 && (at(want) || !at(want+1)) {
				t.Errorf("%s, %s: not after %s", status, d, want)
			}
			if want == never && at(24*time.Hour) {
				t.Errorf("%s, %s: after a day", status, d)
			}
		}
	}
}

// The times belong to one resize: they restart with another generation, and with another pod of that name.
func TestTimersAreTheResizes(t *testing.T) {
	s := State{}.Clone()
	first := vertical.Pod{UID: "1", Name: "web-0", Generation: 2, Resize: vertical.ResizeDeferred}
	later := epoch.Add(time.Hour)
	s.ObserveProgress(epoch, &first, divergence.Default)
	for why, pod := range map[string]vertical.Pod{
		"the next resize":   {UID: "1", Name: "web-0", Generation: 3, Resize: vertical.ResizeDeferred},
		"a pod of its name": {UID: "2", Name: "web-0", Generation: 2, Resize: vertical.ResizeDeferred},
	} {
		if s.ObserveProgress(later, &pod, divergence.Default) {
			t.Errorf("%s has the time of the first resize", why)
		}
	}
	if !s.ObserveProgress(later, &first, divergence.Default) {
		t.Error("the first resize has lost its time")
	}
	s.Prune(nil, divergence.Default)
	if len(s.Seen) != 0 {
		t.Errorf("pods that are gone are remembered: %v", s.Seen)
	}
	s.ObserveProgress(epoch, &first, divergence.None)
	s.Prune(nil, divergence.None)
	if len(s.Seen) != 1 {
		t.Errorf("upstream forgets nothing: %v", s.Seen)
	}
}

// A condition about an older resize does not describe this one. The updater waits for it as for a node without room.
func TestInfeasibleOfAnOlderResize(t *testing.T) {
	pod := vertical.Pod{
		UID: "1", Name: "web-0", Generation: 3, Resize: vertical.ResizeInfeasible, ResizeGeneration: 2,
		ResizeSince: epoch.Add(-time.Hour),
	}
	raw := []vertical.Recommendation{{Container: "app", Target: vertical.Of(1, 1)}}
	for why, c := range map[string]struct {
		evicts bool
		d      divergence.Set
		later  time.Duration
		about  int64
		want   Step
	}{
		"of the older one":               {true, divergence.Default, 0, 2, Wait},
		"of the older one, in place":     {false, divergence.Default, 0, 2, Wait},
		"for five minutes":               {true, divergence.Default, DeferredTimeout + 1, 2, Evict},
		"for five minutes, in place":     {false, divergence.Default, DeferredTimeout + 1, 2, Retry},
		"of this one":                    {true, divergence.Default, 0, 3, Evict},
		"of this one, in place":          {false, divergence.Default, 0, 3, Retry},
		"the kubelet does not say which": {true, divergence.Default, 0, 0, Evict},
		"as upstream":                    {true, divergence.None, 0, 2, Evict},
	} {
		pod.ResizeGeneration = c.about
		for name, s := range map[string]State{"": State{}.Clone(), ", after a restart": Resume([]vertical.Pod{pod})} {
			policy := Policy{Evicts: c.evicts, Divergences: c.d}
			step, _ := s.Decide(epoch, &policy, &pod, raw, Budget{})
			if c.later != 0 {
				step, _ = s.Decide(epoch.Add(c.later), &policy, &pod, raw, Budget{})
			}
			if step != c.want {
				t.Errorf("%s%s: step %d, want %d", why, name, step, c.want)
			}
		}
	}
}

func TestBackoff(t *testing.T) {
	s, pod, now := State{}.Clone(), vertical.Pod{UID: "1"}, epoch
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		10 * time.Minute, 10 * time.Minute}
	for i, wait := range want {
		hopeless := s.RecordFailure(now, &pod)
		if hopeless != (i >= 4) {
			t.Errorf("failure %d: hopeless %t", i+1, hopeless)
		}
		if !s.backingOff(now.Add(wait-1), &pod) || s.backingOff(now.Add(wait), &pod) {
			t.Errorf("failure %d is not followed by %s", i+1, wait)
		}
		now = now.Add(wait)
	}
	s.ClearFailures(&pod)
	if s.backingOff(now, &pod) || s.RecordFailure(now, &pod) {
		t.Error("a success does not end it")
	}
}

func TestRefusals(t *testing.T) {
	recommend := func(cpu, memory vertical.Amount) []vertical.Recommendation {
		return []vertical.Recommendation{{Container: "app", Target: vertical.Of(cpu, memory)}}
	}
	s, pod := State{}.Clone(), vertical.Pod{UID: "1"}
	if s.WasInfeasible(&pod, recommend(1, 1)) {
		t.Error("refused before anything was asked")
	}
	s.RecordInfeasible(&pod, recommend(200, 200), vertical.Of(150, 500))
	for _, c := range []struct {
		cpu, memory vertical.Amount
		want        bool
	}{{200, 200, true}, {300, 200, true}, {199, 300, false}, {300, 199, false}} {
		if got := s.WasInfeasible(&pod, recommend(c.cpu, c.memory)); got != c.want {
			t.Errorf("%d/%d after 200/200: %t", c.cpu, c.memory, got)
		}
	}
	if s.Reconsider(&pod, vertical.Of(150, 400)); !s.WasInfeasible(&pod, recommend(200, 200)) {
		t.Error("forgotten, though the node has no more room")
	}
	if s.Reconsider(&pod, vertical.Of(151, 400)); s.WasInfeasible(&pod, recommend(200, 200)) {
		t.Error("the node has more room by now")
	}
}

func TestNextAsksInOrder(t *testing.T) {
	raw := []vertical.Recommendation{{Container: "app", Target: vertical.Of(200, 200)}}
	refused := State{}.Clone()
	refused.RecordInfeasible(&vertical.Pod{UID: "1"}, raw, vertical.Amounts{})
	for why, c := range map[string]struct {
		evicts bool
		state  State
		pod    vertical.Pod
		raw    []vertical.Recommendation
		budget Budget
		step   Step
		reason reason.Reason
	}{
		"too few": {true, State{}, vertical.Pod{Pending: true}, raw,
			Budget{BlockedBy: reason.MinReplicas}, Wait, reason.MinReplicas},
		"pending":           {true, State{}, vertical.Pod{Pending: true}, nil, Budget{}, Wait, reason.PodPending},
		"no recommendation": {true, State{}, vertical.Pod{}, nil, Budget{}, Wait, reason.NoRecommendation},
		"refused before": {false, refused, vertical.Pod{UID: "1", Resize: vertical.ResizeInfeasible}, raw,
			Budget{}, Skip, reason.InfeasibleBefore},
		"refused, which evicts": {true, refused, vertical.Pod{UID: "1", Resize: vertical.ResizeInfeasible}, raw,
			Budget{}, Evict, reason.ResizeFailed},
		"refused, and no pod to spare": {true, State{}, vertical.Pod{Resize: vertical.ResizeInfeasible}, raw,
			Budget{DisruptionBlockedBy: reason.DisruptionBudget}, Wait, reason.ResizeUnderway},
		"refused, and never evicted": {false, State{}, vertical.Pod{Resize: vertical.ResizeInfeasible}, raw, Budget{}, Retry,
			reason.None},
		"under way": {false, State{}, vertical.Pod{Resize: vertical.ResizeInProgress}, raw, Budget{}, Wait,
			reason.ResizeUnderway},
		"gone wrong": {false, State{}, vertical.Pod{Resize: vertical.ResizeError}, raw, Budget{}, Wait,
			reason.ResizeError},
		"no pod to spare": {true, State{}, vertical.Pod{}, raw, Budget{DisruptionBlockedBy: reason.DisruptionBudget}, Wait,
			reason.DisruptionBudget},
		"fine": {false, State{}, vertical.Pod{}, raw, Budget{}, Resize, reason.None},
	} {
		s := c.state.Clone()
		if step, got := s.Decide(epoch, &Policy{Evicts: c.evicts}, &c.pod, c.raw, c.budget); step != c.step ||
			got != c.reason {
			t.Errorf("%s: step %d, %s", why, step, got)
		}
	}
}

// If a pod is never evicted, only a change on the kubelet's side can help; the updater does not repeat the request each
// pass.
func TestErrorOfTheKubelet(t *testing.T) {
	raw := []vertical.Recommendation{{Container: "app", Target: vertical.Of(200, 200)}}
	p, pod := &Policy{Divergences: divergence.ResizeBackoff}, vertical.Pod{UID: "1", Resize: vertical.ResizeError}
	s := State{}.Clone()
	if step, why := s.Decide(epoch, p, &pod, raw, Budget{}); step != RetryDifferent || why != reason.None {
		t.Errorf("step %d, %s", step, why)
	}
	if step, why := s.Decide(epoch, p, &pod, raw, Budget{DisruptionBlockedBy: reason.DisruptionBudget}); step != Wait ||
		why != reason.DisruptionBudget {
		t.Errorf("with no pod to spare: step %d, %s", step, why)
	}
	s.RecordFailure(epoch, &pod)
	if step, why := s.Decide(epoch, p, &pod, raw, Budget{}); step != Wait || why != reason.BackingOff {
		t.Errorf("not taken a moment ago: step %d, %s", step, why)
	}
}

// The state survives being saved.
func TestStateIsWritten(t *testing.T) {
	s, pod := State{}.Clone(), vertical.Pod{UID: "1", Name: "web", Resize: vertical.ResizeDeferred}
	s.ObserveProgress(epoch, &pod, divergence.Default)
	s.RecordFailure(epoch, &pod)
	s.RecordInfeasible(&pod,
		[]vertical.Recommendation{{Container: "app", Target: vertical.Of(200, 300).Without(vertical.CPU)}}, vertical.Of(1, 2))
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(s), fmt.Sprint(back)); diff != "" {
		t.Errorf("%s reads back as (-written +read):\n%s", text, diff)
	}
}
