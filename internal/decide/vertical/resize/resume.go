package resize

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Resume returns the State of a process that begins, from what pods show: since when their resizes are under way.
// Refusals are seen in the pods' conditions, or come with the next try; how often the API server refused is lost, and
// the pod gets as many tries again.
func Resume(pods []vertical.Pod) State {
	s := State{}.Clone()
	for i := range pods {
		pod := &pods[i]
		if pod.Resize == vertical.ResizeNone || pod.ResizeSince.IsZero() || pod.HasOlderResize() {
			continue
		}
		since := pod.ResizeSince
		if pod.Resized.After(since) {
			// The condition may be older than the last change of what is asked for.
			since = pod.Resized
		}
		s.Seen[progressKey(pod)] = since
	}
	return s
}
