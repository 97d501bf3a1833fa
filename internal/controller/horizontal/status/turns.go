package status

import (
	"time"

	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
)

// turns is what the parts of a status have lately been. What measures a metric may answer and fail in turn, each
// second. Such a status would be written each second, and with one server for all objects so would all statuses.
type turns struct {
	// seen is when a part last had a value that was shown, or that was not for its turning back.
	seen map[kubestatus.Part]time.Time
	// back is when a status was last written that had turned back.
	back time.Time
}

// turn is what a change of a status is.
type turn uint8

const (
	// isNews: a part has a value that it has not had for an interval, or more than parts have changed.
	isNews turn = iota
	// isBack: all parts that have changed have values that they had lately, and none turned back lately.
	isBack
	// isFlap: they have turned back lately already. It is written when the interval is over, if it is still there.
	isFlap
)

// judge is what it is that a status was decided that differs so from the one that is shown.
func (t *turns) judge(now time.Time, was, is []kubestatus.Part, interval time.Duration) turn {
	judged := isBack
	for _, part := range is {
		if at, isSeen := t.seen[part]; !isSeen || now.Sub(at) >= interval {
			judged = isNews
		}
	}
	if judged == isBack && now.Sub(t.back) < interval {
		judged = isFlap
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
	return judged
}

// turn notes that a status was written that differs so.
func (l *last) turn(what turn) {
	l.turned = time.Now()
	if what != isNews {
		l.turns.back = l.turned
	}
}
