// Package averaging says over which window the CPU use of pods is averaged.
package averaging

import (
	"slices"
	"time"
)

const (
	// StableWindow is the longest span that a pod's use is averaged over: as
	// metrics-server's at its defaults.
	StableWindow = 15 * time.Second
	// Reach is how far back samples have to reach: a kubelet renews those of a container after 20 s at the latest, and
	// windows of all pods may end with the oldest of the newest ones (CommonEnd).
	Reach = StableWindow + LongestRenewal
	// LongestRenewal is after how long a kubelet at its defaults has a newer sample of a container, give or take what
	// its work takes: cAdvisor looks after 10 to 20 s (housekeeping interval of 10 s with jitter factor 1,
	// manager/container.go, google/cadvisor/lib v0.60.5).
	LongestRenewal = 25 * time.Second
	// ShortestWindow is the least that is averaged over for a pod that has just become
	// ready. What it used before that counts for nothing, and a window that reaches
	// back there would keep the whole sample from being counted for as long as metrics
	// servers do.
	ShortestWindow = 5 * time.Second
	// DefaultShare is the default tolerance.
	DefaultShare Share = 0.1
)

// Share is the part of what pods use together that may count twice, or not at all: what is
// within the tolerance of whoever asks decides nothing. Not every pod then has to have its
// average over what all others have it over, and a single pod that restarts does not make
// the averages of all others noisy.
type Share float64

// ShareOf is what the tolerances for scaling up and down permit. Larger ones than the default permit no more.
func ShareOf(up, down float64) Share { return min(max(Share(min(up, down)), 0), DefaultShare) }

// pods is how many of so many have that share together.
func (s Share) pods(of int) int { return int(float64(of) * float64(s)) }

// PodWindow is what the use of a pod is averaged over that has been ready for so long:
// it begins with that as soon as it is long enough.
func PodWindow(readyFor, window time.Duration) time.Duration {
	if readyFor < ShortestWindow {
		return window
	}
	return min(window, readyFor)
}

// CommonWindow finds the window that the averages of a target's pods have in common.
//
// A pod that becomes ready takes over a part of what the others did. Its average
// begins with that; if theirs reached back to before, that part would count twice, and
// a surge would be answered with up to half as many pods again as it takes. So all
// windows are cut to the readiness of the youngest pod that counts: the sum of the
// averages is then the average of what all did together. Pods that are ready for less
// than ShortestWindow do not count yet, and their coming cuts nothing.
type CommonWindow struct {
	share Share
	pods  int
	young []time.Duration
}

// Reset forgets the pods, and begins for who asks with this share.
func (c *CommonWindow) Reset(share Share) { c.share, c.pods, c.young = share, 0, c.young[:0] }

// Add takes in a ready pod that has an average: how long it had been ready when its
// newest sample was taken.
func (c *CommonWindow) Add(readyFor time.Duration) {
	if readyFor < ShortestWindow {
		return
	}
	c.pods++
	if readyFor < StableWindow {
		c.young = append(c.young, readyFor)
	}
}

// Window is what the pods' averages are to be over; PodWindow is still to be taken for
// each, because the youngest do not cut the others' windows where they are few.
func (c *CommonWindow) Window() time.Duration {
	skip := c.share.pods(c.pods)
	if len(c.young) <= skip {
		return StableWindow
	}
	slices.Sort(c.young)
	return c.young[skip]
}
