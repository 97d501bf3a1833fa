package podload

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// memory is the resource's name; that of CPU is source.CPU.
const memory = "memory"

// from returns the index of a pod's first container.
func (v *View) from(pod int) int {
	if pod == 0 {
		return 0
	}
	return v.ends[pod-1]
}

func (v *View) of(pod int) []Usage { return v.usages[v.from(pod):v.ends[pod]] }

// Containers returns the usage of a pod's containers; none if the pod is unknown. The view owns the slice.
func (v *View) Containers(pod int) []Usage { return v.of(pod) }

// Refused returns the containers with impossible values from a kubelet or an agent. The view owns the slice.
func (v *View) Refused() []Usage { return v.refused }

// Origins returns the origin of each pod's samples. The view owns the slice.
func (v *View) Origins() []Origin { return v.origins }

// Lacking returns the indices of the ready pods that their agents do not know. The view owns the slice.
func (v *View) Lacking() []int { return v.lacking }

// IsEmpty reports whether the view has no samples.
func (v *View) IsEmpty() bool { return len(v.usages) == 0 }

// Sample returns a pod's use of the resource that a metric names, or its container's.
func (v *View) Sample(pod int, spec *source.Spec, sum arithmetic.Mode) metric.Sample {
	var s metric.Sample
	usages := v.of(pod)
	for i := range usages {
		u := &usages[i]
		if isOther(spec, u) {
			continue
		}
		switch spec.Name {
		case source.CPU:
			s.Milli = sum.Add(s.Milli, u.CPU.MilliCores())
		case memory:
			s.Milli = sum.Add(s.Milli, sum.MulDiv(u.MemoryBytes, 1000, 1))
		default:
			return metric.Sample{}
		}
		s.Present = true
	}
	from := dated(usages, spec)
	s.At, s.Window = from.End, from.Span
	return s
}

// isOther reports whether a metric is about another container.
func isOther(spec *source.Spec, u *Usage) bool {
	return spec.Container != "" && u.Name != spec.Container
}

// Earlier returns a pod's CPU use up to the moment that all pods have in common; not Present where there is none.
func (v *View) Earlier(pod int, spec *source.Spec, sum arithmetic.Mode) (s metric.Sample) {
	if len(v.earlier) == 0 || spec.Name != source.CPU {
		return s
	}
	for k := v.from(pod); k < v.ends[pod]; k++ {
		e := &v.earlier[k]
		if isOther(spec, &v.usages[k]) {
			continue
		}
		if e.Span <= 0 {
			return metric.Sample{}
		}
		s.Milli, s.Present = sum.Add(s.Milli, e.MilliCores()), true
		// The average of a container whose samples are older, as an idle one's are, ends before that moment. The order of
		// containers is undefined.
		if e.End.After(s.At) || e.End.Equal(s.At) && e.Span > s.Window {
			s.At, s.Window = e.End, e.Span
		}
	}
	return s
}

// EarlierIntervals returns the intervals of a pod's containers from which Earlier is computed. The view owns the slice.
func (v *View) EarlierIntervals(pod int) []Interval { return v.earlier[v.from(pod):v.ends[pod]] }

// Recent returns the last single intervals of a pod's CPU use.
func (v *View) Recent(pod int, spec *source.Spec, sum arithmetic.Mode) (recent metric.Recent) {
	if spec.Name != source.CPU {
		return recent
	}
	for k := range recent {
		if recent[k] = v.Interval(pod, k, spec, sum); !recent[k].Present {
			return recent
		}
	}
	return recent
}

// Interval returns the k-th newest interval of a pod, if it is the same one for all its containers. An idle one counts
// with its average. The order of containers is undefined: the oldest interval sets the time.
func (v *View) Interval(pod, k int, spec *source.Spec, sum arithmetic.Mode) (s metric.Sample) {
	usages := v.of(pod)
	used := usedBy(usages, spec)
	var newest time.Time
	shortest := time.Duration(math.MaxInt64)
	for i := range usages {
		u := &usages[i]
		switch {
		case isOther(spec, u):
			continue
		case !isIdle(u, used) && k >= u.RecentCount:
			return metric.Sample{}
		}
		r, isIdle := u.interval(k, used)
		s.Milli = sum.Add(s.Milli, r.MilliCores())
		if isIdle {
			continue
		}
		if r.End.After(newest) {
			newest = r.End
		}
		shortest = min(shortest, r.Span)
		if !s.Present || r.isBefore(s.At, s.Window) {
			s.At, s.Window, s.Present = r.End, r.Span, true
		}
	}
	if newest.Sub(s.At) > shortest/2 {
		return metric.Sample{}
	}
	return s
}

// IntervalOf returns the part of one container in Interval.
func (v *View) IntervalOf(pod, k, container int, spec *source.Spec) *Interval {
	usages := v.of(pod)
	interval, _ := usages[container].interval(k, usedBy(usages, spec))
	return interval
}

// interval returns the k-th newest, or the average of a container that is idle.
func (u *Usage) interval(k int, used int64) (of *Interval, idle bool) {
	if isIdle(u, used) || k >= u.RecentCount {
		return &u.CPU, true
	}
	return &u.Recent[k], false
}
