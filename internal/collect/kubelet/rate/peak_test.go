package rate

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPeak: the peak is that of a list of samples, over the last window at least and the last two at most.
func TestPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := PeakWindow.Milliseconds()
		var p peak
		var all []high
		at := int64(1_700_000_000_000)
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			at += rapid.Int64Range(0, 20_000).Draw(t, "gap")
			sample := high{bytes: rapid.Int64Range(1, 1000).Draw(t, "bytes"), atMillis: at}
			all = append(all, sample)
			p.add(sample.atMillis, sample.bytes)
			bytes, when := p.most()
			least, most, isThere := int64(0), int64(0), false
			for _, s := range all {
				if s.atMillis > at-window {
					least = max(least, s.bytes)
				}
				if s.atMillis > at-2*window {
					most = max(most, s.bytes)
				}
				isThere = isThere || s.bytes == bytes && s.atMillis == when.UnixMilli()
			}
			if bytes < least || bytes > most || !isThere {
				t.Fatalf("at %d the most is %d of %s, of %+v", at, bytes, when, all)
			}
		}
	})
}

// TestPeakClock: a clock that is set back, and a long silence, drop the earlier peak.
func TestPeakClock(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -time.Hour, "silent": time.Hour} {
		var p peak
		began := time.UnixMilli(1_700_000_000_000)
		p.add(began.UnixMilli(), 900)
		p.add(began.Add(jump).UnixMilli(), 5)
		if bytes, at := p.most(); bytes != 5 || !at.Equal(began.Add(jump)) {
			t.Errorf("%s: %d at %s", name, bytes, at)
		}
	}
}
