package status

import (
	"time"

	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
)

// turns has the recent values of a status's parts. The source of a metric may alternate between values and failures
// every second. Without turns such a status would be written every second, and with one source for all objects so would
// all statuses.
type turns struct {
	// seen is when a part last had a value that was written, or that was not written because it flaps.
	seen map[kubestatus.Part]time.Time
	// back is when a status that turned back was last written.
	back time.Time
}

// turn classifies a change of a status.
type turn uint8

const (
	// isNews: a part has a value that it has not had for an interval, or the change is in more than the parts.
	isNews turn = iota
	// isBack: all changed parts have recent values, and none has turned back recently.
	isBack
	// isFlap: they have already turned back recently. The change is written after the interval if it still holds then.
	isFlap
)

// classify classifies the change of a stored status with parts was to one with parts is.
func (t *turns) classify(now time.Time, was, is []kubestatus.Part, interval time.Duration) turn {
	class := isBack
	for _, part := range is {
		if at, isSeen := t.seen[part]; !isSeen || now.Sub(at) >= interval {
			class = isNews
		}
	}
	if class == isBack && now.Sub(t.back) < interval {
		class = isFlap
		was = append(was, is...)
	}
	for part, at := range t.seen {
		if now.Sub(at) >= interval {
			delete(t.seen, part)
		}
	}
	if t.seen == nil {
		t.seen = map[kubestatus.Part]time.Time{}
	}
	for _, part := range was {
		t.seen[part] = now
	}
	return class
}

// turn records the write of such a change.
func (l *last) turn(what turn) {
	l.turned = time.Now()
	if what != isNews {
		l.turns.back = l.turned
	}
}
