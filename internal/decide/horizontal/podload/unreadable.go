package podload

import "fmt"

// fewPods is the divisor of a target's ready pods that gives the number that may be on unreadable nodes before
// metrics.k8s.io replaces the kubelets. They count as pods whose metrics are missing: with nothing on the way up, with
// their whole request on the way down.
const fewPods = 10

// Unreadable describes the ready pods on nodes that cannot be read. The view has no samples of them.
type Unreadable struct {
	// Pods is their number, of Ready ready pods; 0 if all can be read.
	Pods, Ready int
	// Node is one of their nodes, and Err its error. OtherNodes is the number of others.
	Node       string
	Err        error
	OtherNodes int
}

// String describes how many pods are missing, where and why.
func (u *Unreadable) String() string {
	where := "node " + u.Node
	if u.OtherNodes > 0 {
		where = fmt.Sprintf("%s and %d more", where, u.OtherNodes)
	}
	return fmt.Sprintf("%d of %d ready pods are on nodes that cannot be read (%s): %v", u.Pods, u.Ready, where, u.Err)
}

// areFew reports whether the readable pods are enough to decide on.
func (u *Unreadable) areFew() bool { return u.Pods*fewPods <= u.Ready }

// areHalf reports whether at most half of the pods cannot be read: if metrics.k8s.io fails too, the others are enough.
func (u *Unreadable) areHalf() bool { return u.Pods*2 <= u.Ready }

// add counts a ready pod on a node that cannot be read.
func (u *Unreadable) add(node string, h *nodeHealth) {
	u.Pods++
	switch {
	case u.Node == "":
		u.Node, u.Err = node, h.Err
	case !h.isCounted:
		u.OtherNodes++
	}
	h.isCounted = true
}

// Unreadable returns the pods that the last Look could not read.
func (v *View) Unreadable() *Unreadable { return &v.unreadable }

// IsUsable reports whether decisions may use the last Look, with the unreadable pods counted as missing. The caller
// asks this when metrics.k8s.io, to which Look's error makes it fall back, has no values either.
func (v *View) IsUsable() bool { return v.isComplete && v.unreadable.areHalf() }
