package counter

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"

const (
	// shortestStep is the shortest time without growth that counts as a step. Counters that change more often have several
	// changes in the stable window.
	shortestStep = 4500
	// longestStep is the longest time without growth before the next change is no longer expected.
	longestStep = 90_000
	// keptChanges is the number of changes in memory: more than the stable window has of the shortest steps.
	keptChanges = 8
)

// change is a page on which the counters had grown.
type change struct {
	// atMillis is since the start of the history, total the growth of the counters since then.
	atMillis int64
	total    float64
	// isStep is true after pages without growth for shortestStep.
	isStep bool
}

// steps holds the last changes of counters, the oldest first. The page of an exporter that renews it each minute grows
// in one second by the increments of a minute: a window that begins between two changes has too much or too little of
// it.
type steps struct {
	changes [keptChanges]change
	n       int
	// flat counts the pages since the last change.
	flat int
}

func (s *steps) add(atMillis int64, total float64, isGrown bool) {
	if !isGrown {
		s.flat++
		return
	}
	c := change{atMillis: atMillis, total: total, isStep: s.flat > 0 && atMillis-s.last().atMillis >= shortestStep}
	if s.n == keptChanges {
		copy(s.changes[:], s.changes[1:])
		s.n--
	}
	s.changes[s.n] = c
	s.n, s.flat = s.n+1, 0
}

// last returns the last change, or the start of the history.
func (s *steps) last() change {
	if s.n == 0 {
		return change{}
	}
	return s.changes[s.n-1]
}

// isAwaiting reports whether the first change was a step: the time over which the counters grew by it is unknown until
// the next change.
func (s *steps) isAwaiting(nowMillis int64) bool {
	return s.n == 1 && s.changes[0].isStep && nowMillis-s.changes[0].atMillis <= longestStep
}

// span returns the changes over which counters that grow in steps are averaged: as many as the window has, and one step
// at least. ok is false if they do not grow in steps, or have stopped growing.
func (s *steps) span(nowMillis, windowMillis int64) (from, to change, ok bool) {
	if to = s.last(); s.n < 2 || !to.isStep {
		return from, to, false
	}
	i := s.n - 2
	step := to.atMillis - s.changes[i].atMillis
	if step > longestStep || nowMillis-to.atMillis > step+step/2 {
		return from, to, false
	}
	for i > 0 && to.atMillis-s.changes[i].atMillis < windowMillis-windowMillis/16 {
		i--
	}
	return s.changes[i], to, true
}

// isStepped reports whether single intervals of the counters are meaningless.
func (s *steps) isStepped(nowMillis int64) bool {
	_, _, ok := s.span(nowMillis, averaging.StableWindow.Milliseconds())
	return ok || s.isAwaiting(nowMillis)
}
