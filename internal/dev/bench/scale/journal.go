package scale

import (
	"slices"
	"sync"
	"time"
)

// decision is one decision of an autoscaler about one object.
type decision struct {
	at time.Time
	// age is the age of its newest sample; meaningless unless aged.
	age  time.Duration
	aged bool
	// oldest is the age of the newest sample of the pod with the oldest one; 0 if that is unknown.
	oldest time.Duration
}

// journal has the times of each object's decisions. It is safe for concurrent use.
type journal struct {
	began time.Time

	mu        sync.Mutex
	decisions [][]decision // guarded by mu: of each object, in order
	noted     int          // guarded by mu: all of them
}

// newJournal begins when the autoscaler does.
func newJournal(objects int, began time.Time) *journal {
	return &journal{began: began, decisions: make([][]decision, objects)}
}

// note adds a decision. Those of one object may come a little out of order.
func (j *journal) note(object int, d decision) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.decisions[object]
	at := len(all)
	for at > 0 && all[at-1].at.After(d.at) {
		at--
	}
	j.decisions[object] = slices.Insert(all, at, d)
	j.noted++
}

// decided counts the objects that have been decided at all.
func (j *journal) decided() int {
	return j.count(func(all []decision) bool { return len(all) > 0 })
}

// allDecided returns when the last of the objects was decided for the first time, if all have been.
func (j *journal) allDecided() (at time.Time, all bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, decisions := range j.decisions {
		if len(decisions) == 0 {
			return time.Time{}, false
		}
		if first := decisions[0].at; first.After(at) {
			at = first
		}
	}
	return at, true
}

// repeated counts the objects of which a period has ended after a time.
func (j *journal) repeated(from time.Time) int {
	return j.count(func(all []decision) bool { return len(all) > 1 && all[len(all)-1].at.After(from) })
}

// total counts all decisions.
func (j *journal) total() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.noted
}

func (j *journal) count(match func([]decision) bool) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := 0
	for _, all := range j.decisions {
		if match(all) {
			count++
		}
	}
	return count
}

// stretch is the part of a journal in a stretch of time.
type stretch struct {
	// periods are the times between two decisions of the same object that ended in the stretch, in seconds. For an object
	// without any, it is the time for which it has waited at the end: too short, but not left out.
	periods []float64
	// ages are those of the newest samples at the decisions, in seconds.
	ages []float64
	// oldest are those of the pods with the oldest samples, if they are known.
	oldest []float64
	// waiting counts the objects without a period that ended.
	waiting int
}

// between evaluates the decisions after from up to to.
func (j *journal) between(from, to time.Time) stretch {
	j.mu.Lock()
	defer j.mu.Unlock()
	var s stretch
	for _, all := range j.decisions {
		s.add(all, from, to, j.began)
	}
	return s
}

func (s *stretch) add(all []decision, from, to, began time.Time) {
	last, ended := began, 0
	for i := range all {
		d := &all[i]
		if d.at.After(to) {
			break
		}
		if d.at.After(from) {
			if d.aged {
				s.ages = append(s.ages, d.age.Seconds())
			}
			if d.oldest > 0 {
				s.oldest = append(s.oldest, d.oldest.Seconds())
			}
			if i > 0 {
				s.periods = append(s.periods, d.at.Sub(last).Seconds())
				ended++
			}
		}
		last = d.at
	}
	if ended == 0 {
		s.waiting++
		s.periods = append(s.periods, to.Sub(last).Seconds())
	}
}
