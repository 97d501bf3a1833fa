package rate

import "time"

// PeakWindow is how far back the most memory of a container reaches at least. Who looks as often as
// this misses none of the samples.
const PeakWindow = 15 * time.Second

// peak is the most of a container's memory in its last two windows: the one that has begun, and the
// one before it. Both are empty where nothing was sampled.
type peak struct {
	// beganMillis is when the newer window began, by the node's clock.
	beganMillis int64
	now, before high
}

// high is the most of a window and when that was.
type high struct{ bytes, atMillis int64 }

// add takes in a sample. A clock that is set back begins anew.
func (p *peak) add(atMillis, bytes int64) {
	window := PeakWindow.Milliseconds()
	switch age := atMillis - p.beganMillis; {
	case age < 0, age >= 2*window:
		*p = peak{beganMillis: atMillis}
	case age >= window:
		p.beganMillis, p.before, p.now = p.beganMillis+window, p.now, high{}
	}
	if bytes >= p.now.bytes {
		p.now = high{bytes: bytes, atMillis: atMillis}
	}
}

// most is the higher of both; the later one if they are equal.
func (p *peak) most() (bytes int64, at time.Time) {
	h := p.now
	if p.before.bytes > h.bytes {
		h = p.before
	}
	return h.bytes, time.UnixMilli(h.atMillis)
}
