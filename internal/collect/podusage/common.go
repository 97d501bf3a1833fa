package podusage

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// span is what averages are over: a window that ends at a moment, or where that is zero with each pod's newest sample.
type span struct {
	window time.Duration
	end    time.Time
}

// look looks again where the averages are to end at the same moment, and where they are to be over a shorter window as
// so many pods have just become ready that it matters.
func (s *session) look(now time.Time, pods []*observe.Pod, share averaging.Share, v *View) error {
	v.share = share
	if err := s.lookOver(now, pods, span{window: averaging.StableWindow}, v); err != nil {
		return err
	}
	newest := v.milli
	end, isCommon := v.common.End(v.joint.Window())
	if isCommon {
		if err := s.lookOver(now, pods, span{averaging.StableWindow, end}, v); err != nil {
			return err
		}
	}
	if isSurge := isCommon && averaging.IsSurge(newest, v.milli); isSurge || !isCommon {
		if err := s.lookCut(now, pods, isSurge, v); err != nil {
			return err
		}
	}
	if !v.unreadable.areFew() {
		return v.unreadable.Err
	}
	return nil
}

// lookCut looks over the window that the pods have in common up to their newest samples. What was seen up to another
// end is seen again first.
func (s *session) lookCut(now time.Time, pods []*observe.Pod, isSeenOtherwise bool, v *View) error {
	if isSeenOtherwise {
		if err := s.lookOver(now, pods, span{window: averaging.StableWindow}, v); err != nil {
			return err
		}
	}
	if window := v.joint.Window(); window < averaging.StableWindow {
		return s.lookOver(now, pods, span{window: window}, v)
	}
	return nil
}

// count takes a ready pod into what the pods have in common.
func (v *View) count(from int, pod *observe.Pod, end time.Time) {
	if !pod.IsReady() {
		return
	}
	if !end.IsZero() {
		v.spread(from, pod, end)
		return
	}
	readyFor := v.readyFor(from, pod)
	v.joint.Add(readyFor)
	if readyFor == math.MaxInt64 {
		return
	}
	v.common.Add(readySince(pod).Add(readyFor), readyFor, v.lastInterval(from))
	for i := range v.containers[from:] {
		if readyFor >= averaging.ShortestWindow {
			v.milli = arithmetic.Saturate.Add(v.milli, v.containers[from+i].CPU.MilliCores())
		}
	}
}

// spread has what a pod used count as a part of the window that ends for all pods at that moment.
func (v *View) spread(from int, pod *observe.Pod, end time.Time) {
	readyFor := end.Sub(readySince(pod))
	for i := range v.containers[from:] {
		container := &v.containers[from+i]
		c := &container.CPU
		use := averaging.Use{NanoCores: c.NanoCores, End: c.End, Span: c.Span}
		isOfWindow := use.SpreadUpTo(end, readyFor)
		c.NanoCores, c.End, c.Span, container.UncountedNanoCores = use.NanoCores, use.End, use.Span, use.UncountedNanoCores
		if isOfWindow {
			v.milli = arithmetic.Saturate.Add(v.milli, c.MilliCores())
		}
	}
}

// lastInterval is the longest of the containers' last intervals.
func (v *View) lastInterval(from int) (longest time.Duration) {
	for i := range v.containers[from:] {
		if c := &v.containers[from+i]; c.RecentCount > 0 {
			longest = max(longest, c.Recent[0].Span)
		}
	}
	return longest
}
