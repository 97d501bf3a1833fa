package resize

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// scene has a pod of one container with 100m and 100 bytes, limits twice as high, on a node with room. The target is
// twice as much. Cases change it.
type scene struct {
	pod     vertical.Pod
	targets []Target
	around  Constraints
}

func newScene() scene {
	has := vertical.Resized{Requests: vertical.Of(100, 100), Limits: vertical.Of(200, 200)}
	return scene{
		pod: vertical.Pod{QoS: vertical.Burstable, Containers: []vertical.PodContainer{
			{Name: "app", Requests: has.Requests, Limits: has.Limits, Spec: has},
		}},
		targets: []Target{{Container: "app",
			Resized: vertical.Resized{Requests: vertical.Of(200, 200), Limits: vertical.Of(400, 400)}}},
		around: Constraints{Node: Node{
			Known: true, Linux: true, Resizes: true, Allocatable: vertical.Of(1000, 1000), Others: vertical.Of(0, 0),
		}},
	}
}

// TestCheck checks the subject and the result of each check.
func TestCheck(t *testing.T) {
	for why, c := range map[string]struct {
		change func(*scene)
		want   []reason.Reason
	}{
		"nothing blocks it":     {func(*scene) {}, nil},
		"1: the server cannot":  {func(s *scene) { s.around.Unsupported = true }, []reason.Reason{reason.NoResize}},
		"1: the kubelet cannot": {func(s *scene) { s.around.Node.Resizes = false }, []reason.Reason{reason.OldKubelet}},
		"2: Windows":            {func(s *scene) { s.around.Node.Linux = false }, []reason.Reason{reason.NotLinux}},
		"4: Guaranteed by accident": {func(s *scene) { s.targets[0].Limits = s.targets[0].Requests },
			[]reason.Reason{reason.QoSClass}},
		"4: no longer Guaranteed":   {guaranteed, []reason.Reason{reason.QoSClass}},
		"4: BestEffort cannot gain": {bestEffort, []reason.Reason{reason.QoSClass}},
		"4: the pod's own resources decide": {func(s *scene) {
			guaranteed(s)
			s.pod.Whole.Requests, s.pod.Whole.Limits = vertical.Of(900, 900), vertical.Of(900, 900)
		}, nil},
		"4: init containers keep it Burstable": {func(s *scene) {
			s.targets[0].Limits = s.targets[0].Requests
			s.pod.InitContainers = vertical.InitContainers{{Name: "migrate"}}
		}, nil},
		"5: above a LimitRange": {func(s *scene) {
			s.around.Ranges = &bounds.Ranges{Container: bounds.Range{Max: vertical.Of(399, 1000)}}
		}, []reason.Reason{reason.LimitRange}},
		"5: below a LimitRange": {func(s *scene) {
			s.around.Ranges = &bounds.Ranges{Container: bounds.Range{Min: vertical.Of(201, 0)}}
		}, []reason.Reason{reason.LimitRange}},
		"5: a request above a LimitRange": {func(s *scene) {
			s.pod.Containers[0].Spec.Limits, s.targets[0].Limits = vertical.Amounts{}, vertical.Amounts{}
			s.around.Ranges = &bounds.Ranges{
				Container: bounds.Range{Max: vertical.Of(199, 1000), Default: vertical.Of(300, 1000)},
			}
		}, []reason.Reason{reason.LimitRange}},
		"5: above a LimitRange's ratio": {func(s *scene) {
			s.around.Ranges = &bounds.Ranges{Container: bounds.Range{MaxRatioMilli: vertical.Of(1999, 2000)}}
		}, []reason.Reason{reason.LimitRange}},
		"5: above a limit of 0": {func(s *scene) {
			s.pod.Containers[0].Spec = vertical.Resized{Requests: vertical.Of(0, 100), Limits: vertical.Of(0, 200)}
			s.targets[0].Limits = vertical.Amounts{}
		}, []reason.Reason{reason.RequestAboveLimit}},
		"5: below zero": {func(s *scene) { s.targets[0].Requests = vertical.Of(200, -1) },
			[]reason.Reason{reason.BelowZero}},
		"5: above a LimitRange of pods": {func(s *scene) {
			s.around.Ranges = &bounds.Ranges{HasPod: true, Pod: bounds.Range{Max: vertical.Of(399, 1000)}}
		}, []reason.Reason{reason.LimitRange}},
		"5: the quota has no room": {func(s *scene) {
			s.around.Quotas = []Quota{{Requests: vertical.Of(99, 1000)}}
		}, []reason.Reason{reason.ResourceQuota}},
		"5: the quota has just enough": {func(s *scene) {
			s.around.Quotas = []Quota{{Requests: vertical.Of(100, 100), Limits: vertical.Of(200, 200)}}
		}, nil},
		"5: the pod's own resources are what a quota counts": {func(s *scene) {
			s.pod.Whole.Requests = vertical.Of(900, 900)
			s.around.Quotas = []Quota{{Requests: vertical.Of(0, 0)}}
		}, nil},
		"5: who shrinks asks no quota": {func(s *scene) {
			s.targets[0].Requests = vertical.Of(50, 50)
			s.around.Quotas = []Quota{{Requests: vertical.Of(0, 0)}}
		}, nil},
		"6: larger than the node": {func(s *scene) { s.around.Node.Allocatable = vertical.Of(199, 1000) },
			[]reason.Reason{reason.NodeTooSmall}},
		"6: the others take the room": {func(s *scene) { s.around.Node.Others = vertical.Of(801, 0) },
			[]reason.Reason{reason.NodeFull}},
		"6: a kubelet defers what shrinks on a node that is too full": {func(s *scene) {
			s.around.Node.Others, s.targets[0].Requests = vertical.Of(960, 0), vertical.Of(50, 50)
		}, []reason.Reason{reason.NodeFull}},
		"6: what shrinks has room": {func(s *scene) {
			s.around.Node.Others, s.targets[0].Requests = vertical.Of(950, 0), vertical.Of(50, 50)
		}, nil},
		"6: a sidecar and the overhead count": {func(s *scene) {
			s.pod.InitContainers = vertical.InitContainers{
				{Name: "mesh", Sidecar: true, Resized: vertical.Resized{Requests: vertical.Of(300, 0)}},
			}
			s.pod.Overhead, s.around.Node.Others = vertical.Of(101, 0), vertical.Of(400, 0)
		}, []reason.Reason{reason.NodeFull}},
		"6: so does an init container that needs more": {func(s *scene) {
			s.pod.InitContainers = vertical.InitContainers{
				{Name: "migrate", Resized: vertical.Resized{Requests: vertical.Of(601, 0)}},
			}
			s.around.Node.Others = vertical.Of(400, 0)
		}, []reason.Reason{reason.NodeFull}},
		"6: the pod's own resources decide": {func(s *scene) {
			s.pod.Whole.Requests, s.around.Node.Others = vertical.Of(500, 500), vertical.Of(501, 0)
		}, []reason.Reason{reason.NodeFull}},
		"6: nothing is known of the node": {func(s *scene) { s.around.Node = Node{} }, nil},
		"7: processors of its own": {func(s *scene) {
			s.pod.QoS, s.pod.Containers[0].Spec.Limits = vertical.Guaranteed, vertical.Of(100, 100)
			s.targets[0].Limits = s.targets[0].Requests
			s.around.Node.Static[vertical.CPU] = true
		}, []reason.Reason{reason.StaticPolicy}},
		"7: Burstable pods share processors": {func(s *scene) { s.around.Node.Static[vertical.CPU] = true }, nil},
		"7: swap":                            {func(s *scene) { s.around.Node.Swaps = true }, []reason.Reason{reason.Swap}},
		"7: swap is nothing to a container that restarts": {func(s *scene) {
			s.around.Node.Swaps, s.pod.Containers[0].Restarts[vertical.Memory] = true, true
		}, nil},
		"7: nor to a limit alone": {func(s *scene) {
			s.around.Node.Swaps = true
			s.targets[0].Requests = vertical.Of(200, 100)
		}, nil},
		"7: swap is nothing to a container whose limit is its request": {func(s *scene) {
			s.around.Node.Swaps = true
			s.pod.Containers[0].Spec.Limits = vertical.Of(200, 100)
			s.targets[0].Limits = vertical.Of(400, 200)
		}, nil},
		"7: swap matters to one that may swap afterwards": {func(s *scene) {
			s.around.Node.Swaps = true
			s.pod.Containers[0].Spec.Limits = vertical.Of(200, 100)
		}, []reason.Reason{reason.Swap}},
		"7: critical pods do not swap": {func(s *scene) { s.around.Node.Swaps, s.pod.Critical = true, true }, nil},
		"7: Guaranteed pods do not swap": {func(s *scene) {
			guaranteed(s)
			s.around.Node.Swaps, s.targets[0].Limits = true, s.targets[0].Requests
		}, nil},
		"7: memory of its own": {func(s *scene) {
			guaranteed(s)
			s.targets[0].Limits = s.targets[0].Requests
			s.around.Node.Static[vertical.Memory] = true
		}, []reason.Reason{reason.StaticPolicy}},
		"7: memory of its own that stays": {func(s *scene) {
			s.pod.Containers[0].Limits = vertical.Of(100, 100)
			guaranteed(s)
			s.targets[0].Requests, s.targets[0].Limits = vertical.Of(200, 100), vertical.Of(200, 100)
			s.around.Node.Static[vertical.Memory] = true
		}, nil},
		"7: swap is nothing to processors": {func(s *scene) {
			s.around.Node.Swaps = true
			s.targets[0].Requests, s.targets[0].Limits = vertical.Of(200, 100), vertical.Of(400, 200)
		}, nil},
		"8: it uses more than the new limit": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
			s.around.Used = map[string]vertical.Amounts{"app": vertical.Of(1, 143)}
		}, []reason.Reason{reason.MemoryInUse}},
		"8: it uses little": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
			s.around.Used = map[string]vertical.Amounts{"app": vertical.Of(1, 142)}
		}, nil},
		"8: its use is unknown": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
		}, []reason.Reason{reason.MemoryUnknown}},
		"8: only what another container uses is known": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
			s.around.Used = map[string]vertical.Amounts{"sidecar": vertical.Of(1, 10)}
		}, []reason.Reason{reason.MemoryUnknown}},
		"8: a limit where there was none": {func(s *scene) {
			s.pod.Containers[0].Limits, s.pod.Containers[0].Spec.Limits = vertical.Of(200, 0), vertical.Of(200, 0)
			s.around.Used = map[string]vertical.Amounts{"app": vertical.Of(1, 400)}
		}, []reason.Reason{reason.MemoryInUse}},
		"8: the container is restarted for its memory": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
			s.pod.Containers[0].Restarts[vertical.Memory] = true
			s.around.Used = map[string]vertical.Amounts{"app": vertical.Of(1, 190)}
		}, nil},
		"8: or for its CPU": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(400, 150), vertical.Of(200, 75)
			s.pod.Containers[0].Restarts[vertical.CPU] = true
		}, nil},
		"8: but not for CPU that stays": {func(s *scene) {
			s.targets[0].Limits, s.targets[0].Requests = vertical.Of(200, 150), vertical.Of(100, 75)
			s.pod.Containers[0].Restarts[vertical.CPU] = true
		}, []reason.Reason{reason.MemoryUnknown}},
		"8: a limit that grows": {func(s *scene) {
			s.around.Used = map[string]vertical.Amounts{"app": vertical.Of(1,
				399)}
		}, nil},
		"10: more than the pod has": {func(s *scene) { s.pod.Whole.Requests = vertical.Of(199, 1000) },
			[]reason.Reason{reason.PodResources}},
		"10: a limit above the pod's": {func(s *scene) { s.pod.Whole.Limits = vertical.Of(399, 1000) },
			[]reason.Reason{reason.PodResources}},
		"the firmest reason first": {func(s *scene) {
			s.around.Node.Linux, s.around.Node.Others, s.around.Unsupported = false, vertical.Of(900, 0), true
		}, []reason.Reason{reason.NoResize, reason.NotLinux, reason.NodeFull}},
	} {
		s := newScene()
		c.change(&s)
		if got := Check(&s.pod, s.targets, &s.around); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", why, got, c.want)
		}
	}
}

func guaranteed(s *scene) {
	s.pod.QoS, s.pod.Containers[0].Spec.Limits = vertical.Guaranteed, vertical.Of(100, 100)
}

func bestEffort(s *scene) {
	s.pod.QoS, s.pod.Containers[0].Spec = vertical.BestEffort, vertical.Resized{}
	s.targets[0].Limits = vertical.Amounts{}
}

// Check 9: a container that restarts makes a resize a disruption, also with --in-place-skip-disruption-budget.
func TestRestarts(t *testing.T) {
	s := newScene()
	state := State{}.Clone()
	policy, busy := Policy{Evicts: true, SkipBudget: true}, Budget{DisruptionBlockedBy: reason.DisruptionBudget}
	raw := []vertical.Recommendation{{Container: "app"}}
	if step, why := state.Decide(epoch, &policy, &s.pod, raw, busy); step != Resize || why != reason.None {
		t.Errorf("no container restarts: %d %s", step, why)
	}
	s.pod.Containers[0].Restarts[vertical.Memory] = true
	if step, why := state.Decide(epoch, &policy, &s.pod, raw, busy); step != Wait || why != reason.DisruptionBudget {
		t.Errorf("a container restarts: %d %s", step, why)
	}
}

// Check 11 is reported, and blocks no resize.
func TestAdvice(t *testing.T) {
	s := newScene()
	s.pod.InitContainers = vertical.InitContainers{{Name: "sidecar"}}
	if !NamesInit(&s.pod, []vertical.Recommendation{{Container: "sidecar"}}) ||
		NamesInit(&s.pod, []vertical.Recommendation{{Container: "app"}}) {
		t.Error("a recommendation for an init container is not recognised")
	}
}

// TestNeedsRestart has a container that requests 100 bytes of memory, with a limit of 200. The target is twice as much.
func TestNeedsRestart(t *testing.T) {
	memory := func(amount vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.Memory, amount) }
	for why, c := range map[string]struct {
		change func(*scene)
		want   bool
	}{
		"a heap that is fixed at the start does not grow": {func(*scene) {}, true},
		"any other program uses the memory that it gets":  {func(s *scene) { s.pod.Containers[0].FixedHeap = false }, false},
		"the container is restarted anyway": {func(s *scene) { s.pod.Containers[0].Restarts[vertical.Memory] = true },
			false},
		"a heap does not shrink below a lower limit": {func(s *scene) {
			s.targets[0].Resized = vertical.Resized{Requests: memory(50), Limits: memory(100)}
		}, true},
		"the limit stays, and the heap with it": {func(s *scene) { s.targets[0].Limits = vertical.Amounts{} }, false},
		"only CPU changes": {func(s *scene) {
			s.targets[0].Resized = vertical.Resized{Requests: vertical.Of(200, 100), Limits: vertical.Of(400, 200)}
		}, false},
		"without a limit more is requested": {func(s *scene) {
			s.pod.Containers[0].Limits, s.targets[0].Limits = vertical.Amounts{}, vertical.Amounts{}
		}, false},
		"the target is another container's": {func(s *scene) { s.targets[0].Container = "side" }, false},
	} {
		s := newScene()
		s.pod.Containers[0].FixedHeap = true
		c.change(&s)
		if got := NeedsRestart(&s.pod, s.targets); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
}

// Each reason of a check has a remedy, except for unknown use. Reasons of the advice, and those of no check, have none.
func TestEachCheckHasARemedy(t *testing.T) {
	silent := map[reason.Reason]bool{reason.MemoryUnknown: true, reason.InitContainer: true, reason.FixedHeap: true}
	for _, r := range reason.All() {
		knows := RemedyOf([]reason.Reason{r}) != RemedyUnknown
		if want := r >= reason.NoResize && !silent[r]; knows != want {
			t.Errorf("%s has a remedy: %t, want %t", r, knows, want)
		}
	}
}
