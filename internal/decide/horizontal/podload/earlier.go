package podload

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// skew is the largest distance of the newest samples of pods at which moving load is not counted twice to an extent
// that matters: it is a small part of the stable window.
const skew = time.Second

// compare finds the averages of all pods up to the moment at which the oldest of their newest samples was taken.
// Kubelets sample each container independently, every 10 to 20 s: load that moved from one pod to another in the
// meantime is in the newest samples of both, or of neither. Up to that moment the sum of the averages is the total use.
// The averages are omitted if the newest samples are of the same moment. A pod whose samples are much older than those
// of others ends at its own moment.
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

// newest returns the times of the oldest and the newest of the ready pods' newest samples.
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

// idlePart is the divisor of a pod's use below which a container does not determine the time of the pod's sample: its
// use changes no decision, and an idle container has older samples than a busy one. It corresponds to the default
// tolerance.
const idlePart = 10

// isIdle reports whether a container uses less than that part of the pod's use.
func isIdle(u *Usage, used int64) bool { return u.CPU.NanoCores < used/idlePart }

// usedBy returns the total use, in nanocores, of the containers that a metric covers.
func usedBy(usages []Usage, spec *source.Spec) (used int64) {
	for i := range usages {
		if !isOther(spec, &usages[i]) {
			used = arithmetic.Saturate.Add(used, usages[i].CPU.NanoCores)
		}
	}
	return used
}

// dated returns the interval with the time of a sample: the oldest of the containers that are not idle.
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
