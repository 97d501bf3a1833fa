// Package priority selects the pods of a workload that should get new requests, and orders them.
package priority

import (
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

// Policy says which differences are worth a change.
type Policy struct {
	// MinChange is the smallest difference that changes a pod whose requests are within bounds (--pod-update-threshold).
	MinChange float64
	// Lifetime is the age from which such a pod is changed (--in-recommendation-bounds-eviction-lifetime-threshold).
	Lifetime time.Duration
	// AfterOOM is the longest time from a container's start to an out-of-memory kill, and from that until now, for which
	// the kill counts (--evict-after-oom-threshold).
	AfterOOM     time.Duration
	Containers   []vertical.ContainerPolicy
	Requirements []Requirement
	// Unrestricted is set if the object has no update policy.
	Unrestricted bool
	Divergences  divergence.Set
}

// Priority orders pods.
type Priority struct {
	// Outside is set if a request is out of bounds or missing.
	Outside bool
	// ScaleUp is set if a container should have more.
	ScaleUp bool
	// Difference is the sum over the resources of |requested-recommended|/requested.
	Difference float64
}

// Of returns the pod's priority. The formula is upstream's (pkg/updater/priority/ priority_processor.go, v1.8.1): a
// missing request counts as 0, and a sum of 0 as one thousandth of a unit.
func Of(pod *vertical.Pod, recommended []vertical.Recommendation) Priority {
	var p Priority
	var requests, targets [vertical.Resources]int64
	var counts [vertical.Resources]bool
	for i := range pod.Containers {
		container := &pod.Containers[i]
		rec, ok := vertical.RecommendationOf(recommended, container.Name)
		if !ok || !pod.IsObserved(container.Name) {
			continue
		}
		for r := range vertical.Resource(vertical.Resources) {
			target, ok := rec.Target.Get(r)
			if !ok {
				continue
			}
			counts[r] = true
			targets[r] = arithmetic.Saturate.Add(targets[r], milli(r, target))
			request, ok := container.Requests.Get(r)
			if !ok {
				p.ScaleUp, p.Outside = true, true
				continue
			}
			requests[r] = arithmetic.Saturate.Add(requests[r], milli(r, request))
			p.ScaleUp = p.ScaleUp || target > request
			p.Outside = p.Outside || outside(rec, r, request)
		}
	}
	for r := range vertical.Resources {
		if counts[r] {
			requested := math.Max(float64(requests[r]), 1)
			p.Difference += math.Abs(requested-float64(targets[r])) / requested
		}
	}
	return p
}

func outside(rec *vertical.Recommendation, r vertical.Resource, request vertical.Amount) bool {
	lower, hasLower := rec.Lower.Get(r)
	upper, hasUpper := rec.Upper.Get(r)
	return hasLower && request < lower || hasUpper && request > upper
}

// milli returns an amount in thousandths of cores or bytes.
func milli(r vertical.Resource, a vertical.Amount) int64 {
	if r == vertical.CPU {
		return int64(a)
	}
	return arithmetic.Saturate.MulDiv(int64(a), 1000, 1)
}

// Compare returns a negative number if a pod of priority p comes before one of priority q: first the one that needs
// more, then the one that differs most.
func (p Priority) Compare(q Priority) int {
	switch {
	case p.ScaleUp != q.ScaleUp:
		if p.ScaleUp {
			return -1
		}
		return 1
	case p.Difference > q.Difference:
		return -1
	case p.Difference < q.Difference:
		return 1
	}
	return 0
}

// Evaluate returns whether the pod should get its recommendation, and why: the reasons OutsideRange, QuickOOM and
// LongLived mean that it should, all others that it should not.
func (p *Policy) Evaluate(
	now time.Time, pod *vertical.Pod, recommended []vertical.Recommendation,
) (Priority, reason.Reason) {
	priority := Of(pod, recommended)
	quick := p.quickOOM(now, pod)
	switch {
	case p.Divergences.Has(divergence.UnchangedRequests) && unchanged(pod, recommended):
		return priority, reason.NothingChanges
	case quick && priority.Difference == 0:
		return priority, reason.NothingChanges
	case priority.Outside:
		return priority, reason.OutsideRange
	case quick:
		return priority, reason.QuickOOM
	case pod.Started.IsZero():
		return priority, reason.NotStarted
	case now.Before(pod.Started.Add(p.Lifetime)):
		return priority, reason.WithinBounds
	case priority.Difference < p.MinChange:
		return priority, reason.SmallDifference
	}
	return priority, reason.LongLived
}

// IsUpdate reports whether a reason of Evaluate means a change.
func IsUpdate(r reason.Reason) bool {
	return r == reason.OutsideRange || r == reason.QuickOOM || r == reason.LongLived
}

// unchanged reports whether each container requests its recommendation.
func unchanged(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
	for i := range pod.Containers {
		container := &pod.Containers[i]
		rec, ok := vertical.RecommendationOf(recommended, container.Name)
		if !ok || !pod.IsObserved(container.Name) {
			continue
		}
		for r := range vertical.Resource(vertical.Resources) {
			if _, wants := rec.Target.Get(r); wants && rec.Target.Differs(container.Requests, r) {
				return false
			}
		}
	}
	return true
}

// quickOOM reports whether a controlled container ran out of memory soon after its start, and recently.
func (p *Policy) quickOOM(now time.Time, pod *vertical.Pod) bool {
	return slices.ContainsFunc(pod.Containers, func(c vertical.PodContainer) bool {
		return c.Crashed.OutOfMemory && pod.IsObserved(c.Name) && !vertical.PolicyOf(p.Containers, c.Name).Off &&
			c.Crashed.Finished.Sub(c.Crashed.Started) < p.AfterOOM && now.Sub(c.Crashed.Finished) < p.AfterOOM
	})
}
