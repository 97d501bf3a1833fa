package counter

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"

const (
	// shortestStep is how long a counter stays as it is at least where its page changes rarely. What changes more often
	// has several changes in the stable window.
	shortestStep = 4500
	// longestStep is how long a counter stays as it is at most until its next change is awaited no longer.
	longestStep = 90_000
	// keptChanges is how many changes are remembered: more than the stable window has of the shortest steps.
	keptChanges = 8
)

// change is a page on which the counters had grown.
type change struct {
	// atMillis is since the history began, total what the counters have grown by since.
	atMillis int64
	total    float64
	// isStep says that there were pages before it on which nothing had changed, for shortestStep.
	isStep bool
}

// steps are the last changes of counters, the oldest first. The page of an exporter that renews it each minute grows in
// one second by what happened in a minute: a window that begins between two changes has too much or too little of it.
type steps struct {
	changes [keptChanges]change
	n       int
	// flat is how many pages there were since the last change.
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

// last is the last change, or the beginning of the history.
func (s *steps) last() change {
	if s.n == 0 {
		return change{}
	}
	return s.changes[s.n-1]
}

// isAwaiting reports whether the first change came as a step: since when the counters grew by that is not known before
// the next change.
func (s *steps) isAwaiting(nowMillis int64) bool {
	return s.n == 1 && s.changes[0].isStep && nowMillis-s.changes[0].atMillis <= longestStep
}

// span is the changes from one to the last over which counters that grow in steps are averaged: as many as the window
// takes, and one step at least. It is false if they do not grow in steps, or have grown for the last time.
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

// isStepped reports whether single intervals of the counters say nothing.
func (s *steps) isStepped(nowMillis int64) bool {
	_, _, ok := s.span(nowMillis, averaging.StableWindow.Milliseconds())
	return ok || s.isAwaiting(nowMillis)
}
