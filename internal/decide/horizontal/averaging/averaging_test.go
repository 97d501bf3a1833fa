package averaging

import (
	"testing"
	"time"
)

// TestPodWindow: an average begins with readiness once that is long enough ago; before that, it reaches back further.
func TestPodWindow(t *testing.T) {
	for _, tt := range []struct{ readyFor, window, want time.Duration }{
		{time.Hour, StableWindow, StableWindow},
		{10 * time.Second, StableWindow, 10 * time.Second},
		{ShortestWindow, StableWindow, ShortestWindow},
		{ShortestWindow - 1, StableWindow, StableWindow},
		{0, StableWindow, StableWindow},
		{10 * time.Second, 7 * time.Second, 7 * time.Second},
		{6 * time.Second, 7 * time.Second, 6 * time.Second},
	} {
		if got := PodWindow(tt.readyFor, tt.window); got != tt.want {
			t.Errorf("ready for %v, a window of %v: %v, want %v", tt.readyFor, tt.window, got, tt.want)
		}
	}
}
