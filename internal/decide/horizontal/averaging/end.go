package averaging

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

const (
	// skew is how far the ends of the pods' windows may be apart: what moves from one pod to another within it is a small
	// part of the stable window.
	skew = time.Second
	// doubled is how many times what all pods did together their newest samples may say, as what moved to another pod
	// counts twice at most; a little more is for what samples do not show exactly. More is load that is new.
	doubled = 2.2
)

// CommonEnd finds the moment at which the averages of a target's pods are to end.
//
// The newest samples of pods are of different moments: a kubelet at its defaults renews those of a container after 10
// to 20 s, and each second while the container is new. Load that moves from one pod to another, as balancers and
// clients that connect again have it, is in the newest sample of the one, and still in that of the other: it counts
// twice, and the other way round not at all. So all windows end with the oldest of the newest samples. The sum of the
// averages is then what all did together. That costs time, so it is done for targets with few pods, of which each has
// at least the share, and while many are new, as all of them take over load then; and not where the newest samples
// together say more than could count twice: that is a surge.
type CommonEnd struct {
	share          Share
	pods, young    int
	oldest, newest time.Time
	// longest is the longest of the pods' last intervals.
	longest time.Duration
}

// Reset forgets the pods, and begins for who asks with this share.
func (c *CommonEnd) Reset(share Share) { *c = CommonEnd{share: share} }

// Add takes in a ready pod: when its newest sample was taken, how long it had been ready then, and how long before
// there was another sample. Pods whose samples are much older than those of others have an end of their own: they would
// hold up all.
func (c *CommonEnd) Add(end time.Time, readyFor, interval time.Duration) {
	if readyFor < Reach {
		c.young++
	}
	if c.newest.IsZero() || end.After(c.newest) {
		c.newest = end
	}
	c.pods++
	if readyFor < ShortestWindow {
		return
	}
	c.longest = max(c.longest, interval)
	if c.oldest.IsZero() || end.Before(c.oldest) {
		c.oldest = end
	}
}

// End is the moment; false if each pod's window is to end with its own newest sample. They have a common end also where
// they cannot be cut to the window that they would be cut to, as the samples of one are further apart: of a new pod
// only what lies after that is counted then.
func (c *CommonEnd) End(cut time.Duration) (end time.Time, isCommon bool) {
	if c.oldest.IsZero() || c.pods < 2 || c.areMany() && c.young <= c.share.pods(c.pods) {
		return time.Time{}, false
	}
	end = c.oldest
	if earliest := c.newest.Add(-LongestRenewal); end.Before(earliest) {
		end = earliest
	}
	return end, c.newest.Sub(end) > skew || cut < StableWindow && c.longest > cut+skew
}

// areMany reports whether each pod has less than the share.
func (c *CommonEnd) areMany() bool { return float64(c.pods)*float64(c.share) > 1 }

// IsSurge reports whether the newest samples say of more load than what could count twice of that up to a common end.
// Both are in the same unit.
func IsSurge(newest, together int64) bool { return float64(newest) > doubled*float64(together) }

// Use is what a container of a ready pod used on average over the time before End.
type Use struct {
	NanoCores int64
	End       time.Time
	Span      time.Duration
	// UncountedNanoCores is what is left out of NanoCores, as the pod was ready for a part of the window alone.
	UncountedNanoCores int64
}

// SpreadUpTo has the use count as a part of the whole stable window up to the end that all averages have, if its pod
// was ready for a part of that alone: in the other part the others had its load, and the sum is what all did together.
// A pod that was not ready then, or has just become so, does not count: its use has that end and the whole window, as
// that of a pod that starts. Where the load was that of a pod which is gone since, as in a rollout, the sum lacks it:
// what is left out is kept for the way down. It reports whether the use is a part of what all did together in the
// window.
func (u *Use) SpreadUpTo(end time.Time, readyFor time.Duration) (isOfWindow bool) {
	if readyFor >= StableWindow || u.End.Before(end) {
		return true
	}
	isLater := u.End.After(end)
	if !isLater {
		part := arithmetic.Saturate.MulDiv(u.NanoCores, int64(min(u.Span, StableWindow)), int64(StableWindow))
		u.NanoCores, u.UncountedNanoCores = part, u.NanoCores-part
	}
	// What a pod used later alone is not known of the window, and is not zero.
	if isLater || readyFor < ShortestWindow {
		u.End, u.Span = end, StableWindow
	}
	// What a pod used before it was ready was its start, and no load that others could have had as well.
	return !isLater && readyFor > 0
}
