package surge

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// IsNear reports whether a metric of the pods that Plimsoll scrapes has come halfway through the tolerance above its
// target, or further. The results belong to the specs, index for index.
func IsNear(specs []source.Spec, results []metric.Result, tolerance metric.Tolerance) bool {
	for i := range results {
		r, spec := &results[i], &specs[i]
		if r.Failure == nil && !r.Pending && spec.IsPerPod() && spec.Type != source.Pods && r.Ratio > 1+tolerance.Up/2 {
			return true
		}
	}
	return false
}

// FollowUp says how the next samples matter.
type FollowUp struct {
	// Suspects are the indices of the pods whose nodes are worth an early scrape.
	Suspects []int
	Calm     trigger.Calm
}

// Change is the effect on the replica count: whether it was raised, and whether it is at its maximum.
type Change struct{ IsRaised, IsMost bool }

// FollowUp returns what a decision by the metrics needs next. The suspects are appended to dst. If the count cannot
// rise any more, there are none, and no use exceeds the limits.
func (in *Input) FollowUp(s *Settings, r *Result, change Change, dst []int) FollowUp {
	next := FollowUp{Suspects: dst}
	if change.IsMost {
		next.Calm.Is = !change.IsRaised
		return next
	}
	if r.Suspicious && !r.Proposes() {
		next.Suspects = Suspects(s, in, dst)
	}
	if !change.IsRaised {
		next.Calm = Calm(s, in, r)
	}
	return next
}

// Calm returns the largest use in new samples that leads to no more replicas within about a second. It returns none if
// a metric is near its threshold, has failed or is suspicious, and while the pods' averages span less than the whole
// stable window.
func Calm(s *Settings, in *Input, r *Result) (calm trigger.Calm) {
	if r.Suspicious || r.Proposes() || IsNear(in.Specs, in.Results, in.Context.Tolerance) {
		return trigger.Calm{}
	}
	for i := range in.Specs {
		if kind := in.Specs[i].Type; kind != source.Resource && kind != source.ContainerResource {
			continue
		}
		result := &in.Results[i]
		if result.Failure != nil || result.Pending || result.Newest > 0 {
			return trigger.Calm{}
		}
		wanted := in.wantedOnAverage(i)
		if !(wanted > 0) {
			return trigger.Calm{}
		}
		if in.Specs[i].Name == source.CPU {
			lower(&calm.CPUMilli, wanted*s.rise(in.Context.Tolerance.Up))
			continue
		}
		lower(&calm.MemoryMilli, wanted*(1+in.Context.Tolerance.Up/2))
	}
	calm.Is = true
	return calm
}

// rise returns the multiple of the target beyond which new CPU use matters: the surge window's margin, or less if an
// average for which IsNear is false can reach the end of the tolerance within a second of such use.
func (s *Settings) rise(up float64) float64 {
	return min(max(s.Margin, 1), 1+up/2+up/2*averaging.StableWindow.Seconds())
}

// wantedOnAverage returns the mean target of a pod; 0 if unknown.
func (in *Input) wantedOnAverage(i int) float64 {
	sum, n := 0.0, 0
	for pod := range in.Context.Pods {
		if in.Specs[i].Target.Type == source.Utilization && pod >= len(in.Readings[i].Requests) {
			break
		}
		if !in.isExcluded(i, pod) {
			sum += in.targetOf(i, pod)
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// lower sets a limit to this one, if that is lower or the first.
func lower(limit *int64, to float64) {
	if rounded := int64(math.Ceil(min(to, math.MaxInt64/2))); *limit == 0 || rounded < *limit {
		*limit = rounded
	}
}
