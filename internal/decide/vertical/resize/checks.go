package resize

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Target has the new resources of a container; unset amounts do not change.
type Target struct {
	Container string
	vertical.Resized
}

// Node is the node of a resize.
type Node struct {
	// Known is false if the node has not been observed yet: then it blocks nothing.
	Known bool
	Linux bool
	// Resizes is set if its kubelet can: version 1.33 or later.
	Resizes     bool
	Allocatable vertical.Amounts
	// Others has the requests of all other pods on it.
	Others vertical.Amounts
	// Static marks the resources that it assigns exclusively to Guaranteed pods.
	Static [vertical.Resources]bool
	// Swaps is set if containers may swap.
	Swaps bool
}

// Without returns the node without the pod's own requests, which the resize replaces.
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

// Room returns the free resources of the node.
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

// Quota is the remainder of a ResourceQuota.
type Quota struct{ Requests, Limits vertical.Amounts }

// Constraints are the bounds of a resize.
type Constraints struct {
	// Unsupported is set if the server has no pods/resize.
	Unsupported bool
	Node        Node
	Ranges      *bounds.Ranges
	Quotas      []Quota
	// Used is the present use of containers, by their names, if it is known: a memory limit is not lowered without it.
	Used map[string]vertical.Amounts
}

// margin is the part of its memory limit that a container must have free, in percent: it may use more by the time the
// kubelet checks.
const margin = 5

// Check lists what blocks a resize of the pod to these targets in place, the firmest reasons first. An empty list means
// that the kubelet can be expected to do it. State.Decide checks the pod's past (an older resize, a refusal, a failure,
// a restart that makes a pod unavailable).
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
	add(node.Swaps && changesSwapping(pod, after), reason.Swap)
	memoryReason := fitsUse(pod, after, around.Used)
	add(memoryReason != reason.None, memoryReason)
	add(!fitsQuotas(pod, after, around.Quotas), reason.ResourceQuota)
	nodeReason := fitsNode(pod, after, node)
	add(nodeReason != reason.None, nodeReason)
	return slices.Compact(found)
}

// Remedy is what helps if a check blocks a resize. A later one takes precedence over an earlier one.
type Remedy uint8

// The remedies.
const (
	// RemedyUnknown: the cause is unknown.
	RemedyUnknown Remedy = iota
	// RemedyWait: the cause may pass. It does not apply to a new pod, so the wait is no longer than for a kubelet that
	// defers a resize.
	RemedyWait
	// RemedyNewPod: the cause does not pass, and does not apply to a new pod.
	RemedyNewPod
	// RemedyNone: the cause applies to a new pod too. The pod must not be evicted: it would get no replacement.
	RemedyNone
)

// RemedyOf returns the remedy for all results of Check.
func RemedyOf(found []reason.Reason) Remedy {
	remedy := RemedyUnknown
	for _, why := range found {
		remedy = max(remedy, remedyOf(why))
	}
	return remedy
}

func remedyOf(why reason.Reason) Remedy {
	switch why {
	case reason.LimitRange, reason.ResourceQuota, reason.PodResources, reason.RequestAboveLimit, reason.BelowZero:
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

// NewPodBlockedBy returns the reason, among those with RemedyNone, that prevents a new pod with these targets.
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

// NeedsRestart reports whether a program would not follow its new amount of memory before a restart: of more it would
// use no more, and less would kill it.
func NeedsRestart(pod *vertical.Pod, targets []Target) bool {
	return slices.ContainsFunc(targets, func(t Target) bool {
		at := slices.IndexFunc(pod.Containers, func(c vertical.PodContainer) bool { return c.Name == t.Container })
		if at < 0 || !pod.IsObserved(t.Container) {
			return false
		}
		c := &pod.Containers[at]
		return c.FixedHeap && !c.Restarts[vertical.Memory] && changesHeap(c, &t)
	})
}

// changesHeap reports whether the program would size its memory otherwise with the target. It reads the limit, or the
// node's memory without one.
func changesHeap(c *vertical.PodContainer, t *Target) bool {
	limit, _ := c.Limits.Get(vertical.Memory)
	want, changes := t.Limits.Get(vertical.Memory)
	return limit != 0 && changes && want != limit
}

// NamesInit reports whether there is a recommendation for an init container. It has no effect: these are not
// controlled.
func NamesInit(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	return slices.ContainsFunc(recommended,
		func(rec vertical.Recommendation) bool {
			return slices.ContainsFunc(pod.InitContainers,
				func(c vertical.InitContainer) bool { return c.Name == rec.Container })
		})
}

// apply returns the resources of the containers of the pod's spec with the targets applied.
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
			differs[r] = differs[r] || before.Requests.Differs(after[i].Requests, r) ||
				before.Limits.Differs(after[i].Limits, r)
		}
	}
	return differs
}

// qosClass returns the quality of service class that the pod would have. If the pod as a whole has resources, these
// determine it, and a resize does not change them.
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
	case why.Bound == bounds.BelowZero:
		return reason.BelowZero
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

// total returns the requests and limits that the pod as a whole would have.
func total(pod *vertical.Pod, containers []vertical.Resized) vertical.Resized {
	return pod.InitContainers.Total(sum(containers), pod.Whole)
}

// restarts reports whether the resize restarts the container: a resource with the resizePolicy RestartContainer
// changes. The kubelet compares with the container's present resources.
func restarts(c *vertical.PodContainer, after *vertical.Resized) bool {
	for r := range vertical.Resource(vertical.Resources) {
		if c.Restarts[r] && (c.Requests.Differs(after.Requests, r) || c.Limits.Differs(after.Limits, r)) {
			return true
		}
	}
	return false
}

// changesSwapping reports whether the memory request of a running container changes that may swap before or after: a
// kubelet does not do that (pkg/kubelet/allocation/handlers.go, disallowResizeForSwappableContainers, v1.37.1).
func changesSwapping(pod *vertical.Pod, after []vertical.Resized) bool {
	for i := range after {
		c := &pod.Containers[i]
		if !c.Restarts[vertical.Memory] && c.Spec.Requests.Differs(after[i].Requests, vertical.Memory) &&
			(maySwap(pod, c.Spec) || maySwap(pod, after[i])) {
			return true
		}
	}
	return false
}

// maySwap reports whether a container with these resources gets a part of the node's swap with LimitedSwap
// (pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, GetContainerSwapBehavior, v1.37.1).
func maySwap(pod *vertical.Pod, c vertical.Resized) bool {
	request, _ := c.Requests.Get(vertical.Memory)
	limit, _ := c.Limits.Get(vertical.Memory)
	isBurstable := pod.QoS == vertical.Burstable || pod.QoS == vertical.QoSUnknown
	return isBurstable && !pod.Critical && request != limit
}

// fitsUse checks memory limits: a kubelet does not lower one below the present use, and does not set one if there was
// none. Without a known use it does not guess. The use of a container that the resize restarts does not matter: it is
// stopped first (pkg/kubelet/kuberuntime/ kuberuntime_manager.go, computePodResizeAction, validateMemoryResizeAction,
// v1.37).
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

// fitsQuotas checks whether each quota has room for the growth.
func fitsQuotas(pod *vertical.Pod, after []vertical.Resized, quotas []Quota) bool {
	var alone Claims
	return alone.Take(growth(pod, after), quotas)
}

// fitsNode reports whether the pod would fit on the node alone, and beside the others. The API server checks the first,
// a kubelet both, even for a pod that shrinks (plugin/pkg/admission/podresize; pkg/scheduler, AdmissionCheck; v1.37).
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
