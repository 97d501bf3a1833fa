// Package report translates a decision to the condition about why the pods of a VerticalPodAutoscaler are not changed.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// Type is the condition's type. Upstream does not have it; the API permits any type.
const Type = "UpdateBlocked"

// Updating is the reason of a pass in which pods were changed.
const Updating = "Updating"

// Of returns the condition after a pass: True while pods should be changed and none is. There is none without pods, and
// none in modes that change no running pods. The caller sets Since.
func Of(d *update.Decision) (condition.Condition, bool) {
	against, wanted := map[reason.Reason]int{}, 0
	for i := range d.Pods {
		v := &d.Pods[i]
		if v.Action != update.Nothing {
			return conditionOf(false, Updating, "pods are being updated"), true
		}
		if v.Reason != reason.None {
			wanted++
		}
	}
	for i := range d.Pods {
		v := &d.Pods[i]
		if wanted == 0 || v.Reason != reason.None || v.BlockedBy == reason.Conflict {
			against[v.BlockedBy]++
		}
	}
	delete(against, reason.None)
	why := sorted(against)
	if len(why) == 0 || why[0] == reason.ModeOff {
		return condition.Condition{}, false
	}
	blocked := wanted > 0 || against[reason.Conflict] > 0
	return conditionOf(blocked, why[0].String(), messageOf(d, why)), true
}

// Stale returns the condition while no admission controller would set the requests of new pods.
func Stale() condition.Condition {
	return conditionOf(true, reason.LeaseStale.String(), sentences[reason.LeaseStale])
}

func conditionOf(blocked bool, why, message string) condition.Condition {
	return condition.Condition{Type: Type, Status: condition.StatusOf(blocked), Reason: why, Message: message}
}

// sorted returns the reasons, the most frequent first, after those that stop all changes.
func sorted(against map[reason.Reason]int) []reason.Reason {
	return slices.SortedFunc(maps.Keys(against), func(a, b reason.Reason) int {
		return cmp.Or(-compare(isWorkloadWide(a), isWorkloadWide(b)), -cmp.Compare(against[a], against[b]), cmp.Compare(a, b))
	})
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// isWorkloadWide reports whether a reason holds for the whole workload.
func isWorkloadWide(r reason.Reason) bool {
	return r == reason.CircuitOpen || r == reason.NotAdmitted || r == reason.FailedCreate || r == reason.ClusterNotAdmitted
}

func messageOf(d *update.Decision, why []reason.Reason) string {
	all := make([]string, len(why))
	for i, r := range why {
		all[i] = sentences[r]
		switch r {
		case reason.CircuitOpen:
			all[i] += ": " + names(d.Troubled)
		case reason.Conflict:
			all[i] += ": " + conflicts(d.Conflicts)
		case reason.LimitRange, reason.PodResources, reason.RequestAboveLimit, reason.BelowZero:
			all[i] += refusal(d, r)
		}
	}
	return strings.Join(all, "; ")
}

// refusal describes the API server's refusal of the first pod with this reason.
func refusal(d *update.Decision, why reason.Reason) string {
	for i := range d.Pods {
		if d.Pods[i].BlockedBy != why {
			continue
		}
		if refused, is := d.Refusal(&d.Pods[i]); is {
			return ": " + refused.String()
		}
	}
	return ""
}

// maxNames is the number of listed names; the rest is counted.
const maxNames = 3

func names(all []string) string {
	if len(all) <= maxNames {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNames], ", "), len(all)-maxNames)
}

func conflicts(all []conflict.Conflict) string {
	texts := make([]string, len(all))
	for i, c := range all {
		texts[i] = fmt.Sprintf("%s of container %s (%s)", c.Resource, c.Container, c.Horizontal)
	}
	return names(texts)
}

// sentences explain each reason, and what the user can do about it, or that nothing need be done.
var sentences = map[reason.Reason]string{
	reason.OutsideRange: "a request is outside of the recommended bounds, or missing",
	reason.QuickOOM:     "a container ran out of memory soon after it started",
	reason.LongLived: "the pod is old enough for small changes, and its requests are far enough from the " +
		"target",
	reason.BoostExpired:  "the time of the start-up boost is over",
	reason.ResizeFailed:  "the resize failed, and the mode allows an eviction",
	reason.InitContainer: "the recommendation is for an init container, which cannot be resized",
	reason.FixedHeap: "the program sizes its memory when it starts, and would not follow another amount before it is " +
		"restarted",
	reason.NoRecommendation: "there is no recommendation yet",
	reason.NotStarted:       "the start time of the pods is unknown",
	reason.WithinBounds: "the pods' requests are within the recommended bounds, and the pods are too young to be " +
		"changed for less",
	reason.SmallDifference:      "the pods' requests differ too little from what is recommended",
	reason.NothingChanges:       "the pods request what is recommended",
	reason.Capped:               "the pods request as much of the recommendation as a bound allows",
	reason.Conflict:             "a horizontal autoscaler has a utilization target on the resource that would change",
	reason.LittleHistory:        "the history is shorter than the confidence interval, so no request is lowered",
	reason.Boosted:              "the pods have their start-up boost",
	reason.ModeOff:              "the update mode changes no running pods",
	reason.EvictionRequirements: "the change does not meet the evictionRequirements",
	reason.MinReplicas:          "there are fewer pods than minReplicas (updatePolicy.minReplicas, --min-replicas)",
	reason.UnknownReplicas:      "the desired number of pods is unknown",
	reason.DisruptionBudget:     "as many pods are away or not ready as --eviction-tolerance allows",
	reason.PodDisruptionBudget:  "a PodDisruptionBudget does not allow an eviction",
	reason.RateLimit:            "--eviction-rate-limit allows no more in this pass",
	reason.CircuitOpen:          "pods that were changed earlier do not become ready",
	reason.NotAdmitted: "a pod that replaced an evicted one was created without the recommended requests: does the API " +
		"server reach the admission controller, and does no other webhook undo its changes? Another pod is tried after a " +
		"pause",
	reason.FailedCreate:          "pods of the workload are not created; the events of its controller say why",
	reason.WaitingForReplacement: "the pod that replaces the first evicted one has not come up yet",
	reason.ClusterNotAdmitted: "pods of several workloads were created without the recommended requests: does the API " +
		"server reach the admission controller? One pod of the cluster is tried after a pause",
	reason.ClusterBudget: "as many pods of the cluster were evicted as --max-eviction-percent allows within " +
		"--max-eviction-window",
	reason.NodesNotReady:  "most of the nodes are not ready",
	reason.LeaseStale:     "the admission controller's Lease is not renewed: new pods would not get their requests",
	reason.PodPending:     "the pods are not running yet",
	reason.ResizeUnderway: "the kubelet has not finished the last resize",
	reason.ResizeError: "the kubelet could not do the last resize and tries again; the pods' condition " +
		"PodResizeInProgress says why",
	reason.InfeasibleBefore:  "the node could not do the resize, and the recommendation has not fallen since",
	reason.BackingOff:        "the last resize failed not long ago",
	reason.Refused:           "an admission policy, a webhook or a quota refuses the resize",
	reason.Failed:            "the API server answered with an error",
	reason.NoResize:          "the API server cannot resize pods",
	reason.OldKubelet:        "the node's kubelet cannot resize pods",
	reason.NotLinux:          "the node cannot resize pods, as it does not run Linux",
	reason.QoSClass:          "the pod's quality of service class would change, which a resize may not",
	reason.LimitRange:        "a LimitRange forbids the recommendation within minAllowed and maxAllowed",
	reason.ResourceQuota:     "a ResourceQuota has no room for the recommendation",
	reason.NodeTooSmall:      "the node is too small for the recommendation",
	reason.NodeFull:          "the node has no room for the recommendation",
	reason.StaticPolicy:      "the node gives the pod processors or memory of its own",
	reason.Swap:              "the node does not change the memory of containers that may swap",
	reason.MemoryInUse:       "a container uses more memory than its new limit would allow",
	reason.MemoryUnknown:     "a container's memory limit would fall, and its usage is unknown",
	reason.RequestAboveLimit: "a request would be above its limit, which stays as it is",
	reason.BelowZero:         "an amount would be below zero, as maxAllowed is",
	reason.PodResources:      "the requests of the whole pod are less than the sum of its containers' would be",
}

// Sentence returns the explanation of a reason.
func Sentence(r reason.Reason) string { return sentences[r] }
