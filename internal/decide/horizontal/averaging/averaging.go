// Package averaging defines the window over which the CPU usage of pods is averaged.
package averaging

import "time"

const (
	// StableWindow is the longest span over which a pod's use is averaged: the window of metrics-server at its defaults.
	StableWindow = 15 * time.Second
	// Reach is the age that samples must cover: averages of all pods are compared up to the oldest of their newest samples
	// (package podload).
	Reach = StableWindow + LongestRenewal
	// LongestRenewal is the longest time between two samples of a busy container from a kubelet at its defaults: cAdvisor
	// takes one 10 to 20 s after the last one (housekeeping interval of 10 s with jitter factor 1, manager/container.go,
	// google/cadvisor/lib v0.60.5; 10.0 to 20.0 s measured, docs/contributing/kubelets.md), and it is scraped within a
	// second.
	LongestRenewal = 21 * time.Second
	// ShortestWindow is the shortest window over which the use of a pod that has just become ready is averaged. Its
	// earlier use does not count, and a window that reaches back into it would exclude the sample for as long as metrics
	// servers do.
	ShortestWindow = 5 * time.Second
)

// PodWindow returns the window over which the use of a pod is averaged that has been ready for readyFor: it starts when
// the pod became ready, once that gives the shortest window.
func PodWindow(readyFor, window time.Duration) time.Duration {
	if readyFor < ShortestWindow {
		return window
	}
	return min(window, readyFor)
}
