package vertical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// isStuck reports whether a pod's node has refused its resize, so that waiting does not help.
func isStuck(v update.Verdict) bool { return v.BlockedBy == reason.InfeasibleBefore }

// stuckText is which pods keep their requests because their nodes cannot do the resizes, and until when; empty without
// such pods.
func (e *Explanation) stuckText() string {
	pods := e.Update.Pods
	at := slices.IndexFunc(pods, isStuck)
	if at < 0 {
		return ""
	}
	pod := pods[at].Pod
	text := fmt.Sprintf("node %s cannot do the resize of %s (infeasible)", pod.Node, pod.Name)
	if n := count(pods, isStuck); n > 1 {
		text = fmt.Sprintf("nodes cannot do the resizes of %d pods (infeasible), such as %s on node %s", n, pod.Name,
			pod.Node)
	}
	keeps := "its requests"
	if len(pod.Containers) == 1 {
		keeps = amountsText(pod.Containers[0].Requests)
	}
	return fmt.Sprintf("%s, which keeps %s until the recommendation falls or the node has more room", text, keeps)
}

// restText is about the pods that the next pass does not change: " (the other waits for its turn)". The stuck ones are
// in stuckText.
func (e *Explanation) restText() string {
	isIn := func(class func(reason.Reason) bool) func(update.Verdict) bool {
		return func(v update.Verdict) bool { return v.Action == update.Nothing && !isStuck(v) && class(v.BlockedBy) }
	}
	isOther := isIn(func(r reason.Reason) bool { return !isOfTurn(r) && !isFine(r) })
	pods, all := e.Update.Pods, count(e.Update.Pods, isIn(func(reason.Reason) bool { return true }))
	var parts []string
	add := func(n int, one, more string) {
		switch {
		case n == 0:
		case n == 1 && all == 1:
			parts = append(parts, "the other "+one)
		case n == all:
			parts = append(parts, fmt.Sprintf("the %d others %s", n, more))
		case n == 1:
			parts = append(parts, "1 "+one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, more))
		}
	}
	add(count(pods, isIn(isOfTurn)), "waits for its turn", "wait for their turn")
	add(count(pods, isIn(isFine)), "needs no change", "need no change")
	if n := count(pods, isOther); n > 0 {
		why := e.why(pods, isOther)
		add(n, "is not changed, as "+why, "are not changed, as "+why)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// isOfTurn reports whether a pod waits only until others are done.
func isOfTurn(r reason.Reason) bool {
	switch r {
	case reason.None, reason.DisruptionBudget, reason.WaitingForReplacement, reason.RateLimit, reason.ClusterBudget:
		return true
	}
	return false
}

// isFine reports whether a pod's requests are close enough to the recommendation.
func isFine(r reason.Reason) bool {
	switch r {
	case reason.WithinBounds, reason.SmallDifference, reason.NothingChanges, reason.Capped:
		return true
	}
	return false
}
