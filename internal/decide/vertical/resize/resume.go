package resize

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Resume returns the State of a new process, with the start times of the pods' resizes. Refusals are in the pods'
// conditions, or come with the next attempt; the number of refusals by the API server is lost, and the pod gets as many
// attempts again.
func Resume(pods []vertical.Pod) State {
	s := State{}.Clone()
	for i := range pods {
		pod := &pods[i]
		if pod.Resize == vertical.ResizeNone || pod.ResizeSince.IsZero() || pod.HasOlderResize() {
			continue
		}
		since := pod.ResizeSince
		if pod.Resized.After(since) {
			// The condition may be older than the last change of the spec.
			since = pod.Resized
		}
		s.Seen[progressKey(pod)] = since
	}
	return s
}
