package podload

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// skew is how far the newest samples of pods may be apart without load that moves between pods counting twice: it is a
// small part of the stable window.
const skew = time.Second

// compare finds the averages of all pods up to the moment at which the oldest of their newest samples was taken.
// Kubelets take samples of each container by itself, every 10 to 20 s: load that moved from one pod to another in the
// meantime is in the newest samples of both, or of neither. Up to that moment the sum of the averages is what all used
// together. It is left out where the newest samples are of the same moment. A pod whose samples are much older than
// those of others ends with a moment of its own.
func (v *View) compare() {
	v.earlier = v.earlier[:0]
	oldest, newest := v.newest()
	if limit := newest.Add(-averaging.LongestRenewal); oldest.Before(limit) {
		oldest = limit
	}
	if newest.IsZero() || newest.Sub(oldest) <= skew {
		return
	}
	for i := range v.ends {
		isReady := !v.ready[i].IsZero() && oldest.Sub(v.ready[i]) >= averaging.StableWindow
		for k := v.from(i); k < v.ends[i]; k++ {
			var up Interval
			if isReady {
				up, _ = v.containers[k].CPU.Over(Window{
					LengthMillis: averaging.StableWindow.Milliseconds(), EndMillis: oldest.UnixMilli(),
				})
			}
			v.earlier = append(v.earlier, up)
		}
	}
}

// wholePod is a metric of all containers of a pod.
var wholePod = source.Spec{Name: source.CPU}

// newest returns the oldest and the newest of the newest samples of ready pods.
func (v *View) newest() (oldest, newest time.Time) {
	for i := range v.ends {
		if v.ready[i].IsZero() || v.from(i) == v.ends[i] {
			continue
		}
		end := dated(v.of(i), &wholePod).End
		if end.Sub(v.ready[i]) < averaging.ShortestWindow {
			continue
		}
		if oldest.IsZero() || end.Before(oldest) {
			oldest = end
		}
		if end.After(newest) {
			newest = end
		}
	}
	return oldest, newest
}

// idlePart is the part of a pod's use, one in so many, below which a container does not date the pod's sample: what it
// uses decides nothing, and an idle container has older samples than a busy one. It is the default tolerance.
const idlePart = 10

// isIdle reports whether a container uses less than that of what its pod's containers do.
func isIdle(u *Usage, used int64) bool { return u.CPU.NanoCores < used/idlePart }

// usedBy returns what the containers that a metric is about use together, in nanocores.
func usedBy(usages []Usage, spec *source.Spec) (used int64) {
	for i := range usages {
		if !isOther(spec, &usages[i]) {
			used = arithmetic.Saturate.Add(used, usages[i].CPU.NanoCores)
		}
	}
	return used
}

// dated returns the interval that a sample is from: the oldest of the containers that are not idle.
func dated(usages []Usage, spec *source.Spec) (oldest Interval) {
	used := usedBy(usages, spec)
	for i := range usages {
		c := &usages[i].CPU
		if isOther(spec, &usages[i]) || isIdle(&usages[i], used) {
			continue
		}
		if oldest.End.IsZero() || c.isBefore(oldest.End, oldest.Span) {
			oldest = *c
		}
	}
	return oldest
}
