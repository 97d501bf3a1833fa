package meter

import (
	"testing"
	"time"
)

// TestSameSample: a sample that is read again is not new, and one that nothing follows is not known for ever.
func TestSameSample(t *testing.T) {
	var h History
	for _, step := range []struct {
		now, at time.Duration
		isNew   bool
	}{
		{time.Second, 0, true}, {2 * time.Second, 0, false}, {13 * time.Second, 12 * time.Second, true},
		{14 * time.Second, 12 * time.Second, false}, {15 * time.Second, 12050 * time.Millisecond, false},
	} {
		if got := h.Read(noon, step.now, Reading{At: step.at, CPUSeconds: step.at.Seconds() / 2}); got != step.isNew {
			t.Errorf("a sample of %v read at %v is new: %v", step.at, step.now, got)
		}
	}
	if milli, _ := h.Newest(); milli != 500 {
		t.Errorf("the newest interval is of %dm, want 500m", milli)
	}
	for now, ok := range map[time.Duration]bool{45 * time.Second: true, 45*time.Second + 1: false} {
		if c := h.Container("app", now, 32*time.Second); c.CPU.Len() > 0 != ok {
			t.Errorf("after %v, known: %v", now, !ok)
		}
	}
}

// TestRestart: a counter that falls is another container's, and nothing reaches across.
func TestRestart(t *testing.T) {
	var h History
	h.Read(noon, 0, Reading{At: 0, CPUSeconds: 9})
	h.Read(noon, time.Second, Reading{At: time.Second, CPUSeconds: 10})
	h.Read(noon, 2*time.Second, Reading{At: 2 * time.Second, CPUSeconds: 1})
	if milli, _ := h.Newest(); milli != 0 {
		t.Errorf("%dm after a restart, want none", milli)
	}
}
