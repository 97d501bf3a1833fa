package resize

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Target is what a container shall have; what it has no amount of stays.
type Target struct {
	Container string
	vertical.Resized
}

// Node is what a resize has to fit on.
type Node struct {
	// Known is false where the node has not been seen yet: then it blocks nothing.
	Known bool
	Linux bool
	// Resizes is set if its kubelet can: version 1.33 or later.
	Resizes     bool
	Allocatable vertical.Amounts
	// Others is what all other pods on it request.
	Others vertical.Amounts
	// Static are the resources of which it gives Guaranteed pods a part of their own.
	Static [vertical.Resources]bool
	// Swaps is set if containers may swap.
	Swaps bool
}

// Without returns the node as a resize of the pod finds it: the pod's own requests are among those that the resize
// replaces.
func (n Node) Without(pod *vertical.Pod) Node {
	taken := pod.NodeRequests()
	for r := range vertical.Resource(vertical.Resources) {
		if own, ok := taken.Get(r); ok {
			others, _ := n.Others.Get(r)
			n.Others = n.Others.With(r, max(0, others-own))
		}
	}
	return n
}

// Room returns what the node has left over.
func (n Node) Room() vertical.Amounts {
	var room vertical.Amounts
	for r := range vertical.Resource(vertical.Resources) {
		if all, ok := n.Allocatable.Get(r); ok {
			others, _ := n.Others.Get(r)
			room = room.With(r, max(0, all-others))
		}
	}
	return room
}

// Quota is what a ResourceQuota leaves over.
type Quota struct{ Requests, Limits vertical.Amounts }

// Constraints is what a resize has to get along with.
type Constraints struct {
	// Unsupported: the server has no pods/resize.
	Unsupported bool
	Node        Node
	Ranges      *bounds.Ranges
	Quotas      []Quota
	// Used is what containers use now, by their names, where that is known: a memory
	// limit is not lowered without.
	Used map[string]vertical.Amounts
}

// margin is how much of its memory limit a container must have left, in percent:
// it uses more by the time the kubelet looks.
const margin = 5

// Check lists what blocks a resize of the pod to these targets in place, the
// firmest reasons first. An empty list means that the kubelet can be expected to
// do it. What is about the pod's past (an older resize, a refusal, a failure, a
// restart that takes a pod away) is checked in State.Decide.
func Check(pod *vertical.Pod, targets []Target, around *Constraints) []reason.Reason {
	after := apply(pod, targets)
	node := &around.Node
	guaranteed := pod.QoS == vertical.Guaranteed
	changes := changed(pod, after)
	var found []reason.Reason
	add := func(bad bool, why reason.Reason) {
		if bad {
			found = append(found, why)
		}
	}
	add(around.Unsupported, reason.NoResize)
	add(node.Known && !node.Resizes, reason.OldKubelet)
	add(node.Known && !node.Linux, reason.NotLinux)
	add(pod.QoS != vertical.QoSUnknown && pod.QoS != qosClass(pod, after), reason.QoSClass)
	refused := refusedFor(pod, after, around.Ranges)
	add(refused != reason.None, refused)
	for r := range vertical.Resource(vertical.Resources) {
		add(changes[r] && guaranteed && node.Static[r], reason.StaticPolicy)
	}
	add(node.Swaps && changesMemoryRequest(pod, after), reason.Swap)
	memoryReason := fitsUse(pod, after, around.Used)
	add(memoryReason != reason.None, memoryReason)
	add(!fitsQuotas(pod, after, around.Quotas), reason.ResourceQuota)
	nodeReason := fitsNode(pod, after, node)
	add(nodeReason != reason.None, nodeReason)
	return slices.Compact(found)
}

// Remedy is what helps where a check blocks a resize. A later one outweighs an
// earlier one.
type Remedy uint8

// The remedies.
const (
	// RemedyUnknown: too little is known to say.
	RemedyUnknown Remedy = iota
	// RemedyWait: it may pass. It does not apply to a new pod, so the wait for it is no
	// longer than for a kubelet that defers a resize.
	RemedyWait
	// RemedyNewPod: it does not pass, and does not apply to a new pod.
	RemedyNewPod
	// RemedyNone: it applies to a new pod too. The pod must not be evicted: no other would
	// come.
	RemedyNone
)

// RemedyOf returns what helps against all that Check found.
func RemedyOf(found []reason.Reason) Remedy {
	remedy := RemedyUnknown
	for _, why := range found {
		remedy = max(remedy, remedyOf(why))
	}
	return remedy
}

func remedyOf(why reason.Reason) Remedy {
	switch why {
	case reason.LimitRange, reason.ResourceQuota, reason.PodResources, reason.RequestAboveLimit:
		return RemedyNone
	case reason.NoResize, reason.OldKubelet, reason.NotLinux, reason.QoSClass, reason.StaticPolicy, reason.Swap,
		reason.NodeTooSmall:
		return RemedyNewPod
	case reason.NodeFull, reason.MemoryInUse:
		return RemedyWait
	}
	// MemoryUnknown: a missing measurement is no reason to evict.
	return RemedyUnknown
}

// NewPodBlockedBy says what forbids a new pod with these targets, of the reasons whose
// remedy is RemedyNone.
func NewPodBlockedBy(pod *vertical.Pod, targets []Target, ranges *bounds.Ranges, quotas []Quota) reason.Reason {
	after := apply(pod, targets)
	if refused := refusedFor(pod, after, ranges); refused != reason.None {
		return refused
	}
	if !fitsQuotas(pod, after, quotas) {
		return reason.ResourceQuota
	}
	return reason.None
}

// NeedsRestartToGrow reports that a program would not use the memory that it gets before
// it is started again.
func NeedsRestartToGrow(pod *vertical.Pod, targets []Target) bool {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		at := slices.IndexFunc(targets, func(t Target) bool { return t.Container == c.Name })
		if !c.FixedHeap || c.Restarts[vertical.Memory] || at < 0 {
			continue
		}
		now, _ := c.Requests.Get(vertical.Memory)
		if want, ok := targets[at].Requests.Get(vertical.Memory); ok && want > now {
			return true
		}
	}
	return false
}

// NamesInit reports a recommendation for an init container. Nothing comes of it:
// those are not controlled.
func NamesInit(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	return slices.ContainsFunc(recommended,
		func(rec vertical.Recommendation) bool {
			return slices.ContainsFunc(pod.InitContainers,
				func(c vertical.InitContainer) bool { return c.Name == rec.Container })
		})
}

// apply gives the containers of the pod's spec what the targets say.
func apply(pod *vertical.Pod, targets []Target) []vertical.Resized {
	after := make([]vertical.Resized, len(pod.Containers))
	for i := range pod.Containers {
		after[i] = pod.Containers[i].Spec
		for _, t := range targets {
			if t.Container == pod.Containers[i].Name {
				after[i].Requests = after[i].Requests.Replace(t.Requests)
				after[i].Limits = after[i].Limits.Replace(t.Limits)
			}
		}
	}
	return after
}

// Changes reports whether the pod's spec differs from the targets at all.
func Changes(pod *vertical.Pod, targets []Target) bool {
	return changed(pod, apply(pod, targets)) != [vertical.Resources]bool{}
}

func changed(pod *vertical.Pod, after []vertical.Resized) (differs [vertical.Resources]bool) {
	for i := range after {
		before := pod.Containers[i].Spec
		for r := range vertical.Resource(vertical.Resources) {
			differs[r] = differs[r] || differ(before.Requests, after[i].Requests, r) || differ(before.Limits, after[i].Limits, r)
		}
	}
	return differs
}

func differ(a, b vertical.Amounts, r vertical.Resource) bool {
	x, hasX := a.Get(r)
	y, hasY := b.Get(r)
	return x != y || hasX != hasY
}

// qosClass returns the quality of service class that the pod would have. Where the pod as a whole has resources, those
// decide, and a resize does not change them.
func qosClass(pod *vertical.Pod, after []vertical.Resized) vertical.QoS {
	if pod.Whole != (vertical.Resized{}) {
		return pod.QoS
	}
	class := pod.InitContainers.QoS()
	for i := range after {
		class = class.With(after[i].QoS())
	}
	return class
}

// Refusal returns why the API server would refuse the pod with these targets, whether it is resized or created anew;
// false if it would not.
func Refusal(pod *vertical.Pod, targets []Target, ranges *bounds.Ranges) (bounds.Refusal, bool) {
	return refusal(pod, apply(pod, targets), ranges)
}

func refusal(pod *vertical.Pod, after []vertical.Resized, ranges *bounds.Ranges) (bounds.Refusal, bool) {
	checked := bounds.Pod{Resources: pod.Whole, InitContainers: pod.InitContainers}
	checked.Containers = make([]bounds.Container, len(pod.Containers))
	for i := range pod.Containers {
		checked.Containers[i].Name = pod.Containers[i].Name
	}
	return bounds.Refused(checked, after, ranges)
}

func refusedFor(pod *vertical.Pod, after []vertical.Resized, ranges *bounds.Ranges) reason.Reason {
	why, refused := refusal(pod, after, ranges)
	switch {
	case !refused:
		return reason.None
	case why.IsLimitRange():
		return reason.LimitRange
	case why.Bound == bounds.AboveLimit:
		return reason.RequestAboveLimit
	}
	return reason.PodResources
}

func sum(all []vertical.Resized) vertical.Resized {
	var total vertical.Resized
	for _, c := range all {
		total = total.Plus(c)
	}
	return total
}

// total returns what the pod as a whole would request and have as limits.
func total(pod *vertical.Pod, containers []vertical.Resized) vertical.Resized {
	return pod.InitContainers.Total(sum(containers), pod.Whole)
}

// restarts reports that the resize restarts the container: a resource changes whose
// resizePolicy is RestartContainer. The kubelet compares with what the container has.
func restarts(c *vertical.PodContainer, after *vertical.Resized) bool {
	for r := range vertical.Resource(vertical.Resources) {
		if c.Restarts[r] && (differ(c.Requests, after.Requests, r) || differ(c.Limits, after.Limits, r)) {
			return true
		}
	}
	return false
}

// changesMemoryRequest reports a container whose memory request changes while it runs: a
// kubelet does not do that where containers may swap (pkg/kubelet/allocation/handlers.go,
// disallowResizeForSwappableContainers, v1.37).
func changesMemoryRequest(pod *vertical.Pod, after []vertical.Resized) bool {
	for i := range after {
		c := &pod.Containers[i]
		if !c.Restarts[vertical.Memory] && differ(c.Spec.Requests, after[i].Requests, vertical.Memory) {
			return true
		}
	}
	return false
}

// fitsUse: a kubelet does not lower a memory limit below what is used, nor set one where
// there was none. Where the use is not known, it is not guessed. What a container uses that
// the resize restarts does not matter: it is stopped first (pkg/kubelet/kuberuntime/
// kuberuntime_manager.go, computePodResizeAction, validateMemoryResizeAction, v1.37).
func fitsUse(pod *vertical.Pod, after []vertical.Resized, used map[string]vertical.Amounts) reason.Reason {
	found := reason.None
	for i := range after {
		c := &pod.Containers[i]
		before, _ := c.Limits.Get(vertical.Memory)
		limit, _ := after[i].Limits.Get(vertical.Memory)
		if limit == 0 || before != 0 && limit >= before || restarts(c, &after[i]) {
			continue
		}
		use, known := used[c.Name].Get(vertical.Memory)
		switch {
		case !known:
			found = reason.MemoryUnknown
		case arithmetic.Saturate.MulDiv(int64(use), 100+margin, 100) >= int64(limit):
			return reason.MemoryInUse
		}
	}
	return found
}

// fitsQuotas asks of what grows whether each quota has room for the growth.
func fitsQuotas(pod *vertical.Pod, after []vertical.Resized, quotas []Quota) bool {
	var alone Claims
	return alone.Take(growth(pod, after), quotas)
}

// fitsNode reports whether the pod would fit on the node alone, and beside the others. The
// API server asks the first, a kubelet both, even of a pod that shrinks
// (plugin/pkg/admission/podresize; pkg/scheduler, AdmissionCheck; v1.37).
func fitsNode(pod *vertical.Pod, after []vertical.Resized, node *Node) reason.Reason {
	if !node.Known {
		return reason.None
	}
	verdict := reason.None
	requests := total(pod, after).Requests.Plus(pod.Overhead)
	for r := range vertical.Resource(vertical.Resources) {
		room, known := node.Allocatable.Get(r)
		request, _ := requests.Get(r)
		others, _ := node.Others.Get(r)
		switch {
		case !known || request == 0:
		case request > room:
			return reason.NodeTooSmall
		case arithmetic.Saturate.Add(int64(request), int64(others)) > int64(room):
			verdict = reason.NodeFull
		}
	}
	return verdict
}
