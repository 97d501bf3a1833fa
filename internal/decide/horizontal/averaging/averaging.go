// Package averaging defines the window over which the CPU usage of pods is averaged.
package averaging

import "time"

const (
	// StableWindow is the longest span that a pod's use is averaged over: as
	// metrics-server's at its defaults.
	StableWindow = 15 * time.Second
	// Reach is how far back samples have to reach: averages of all pods are compared up to the oldest of their newest
	// samples (package podload).
	Reach = StableWindow + LongestRenewal
	// LongestRenewal is after how long a newer sample of a busy container has come from a kubelet at its defaults:
	// cAdvisor takes one 10 to 20 s after the one before (housekeeping interval of 10 s with jitter factor 1,
	// manager/container.go, google/cadvisor/lib v0.60.5; 10.0 to 20.0 s measured, docs/contributing/kubelets.md), and it
	// is scraped within a second.
	LongestRenewal = 21 * time.Second
	// ShortestWindow is the least that is averaged over for a pod that has just become
	// ready. What it used before that counts for nothing, and a window that reaches
	// back there would keep the whole sample from being counted for as long as metrics
	// servers do.
	ShortestWindow = 5 * time.Second
)

// PodWindow returns what the use of a pod is averaged over that has been ready for so long: it begins with that as soon
// as it is long enough.
func PodWindow(readyFor, window time.Duration) time.Duration {
	if readyFor < ShortestWindow {
		return window
	}
	return min(window, readyFor)
}
