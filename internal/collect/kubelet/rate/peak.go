package rate

import "time"

// PeakWindow is the shortest window of a container's peak memory. A reader with this period misses no sample.
const PeakWindow = 15 * time.Second

// peak is the highest memory of a container in its last two windows: the one that has begun, and the one before it.
// Both are empty without samples.
type peak struct {
	// beganMillis is when the newer window began, by the node's clock.
	beganMillis int64
	now, before high
}

// high is the highest memory of a window and its time.
type high struct{ bytes, atMillis int64 }

// add adds a sample. A clock that is set back starts over.
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

// most returns the higher of both; the later one if they are equal.
func (p *peak) most() (bytes int64, at time.Time) {
	h := p.now
	if p.before.bytes > h.bytes {
		h = p.before
	}
	return h.bytes, time.UnixMilli(h.atMillis)
}
