package history

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

// ReadyFor is the time for which numbers of ready pods are kept: the age of the oldest samples that a decision uses.
const ReadyFor = 40 * time.Second

// MostReady is the largest number of entries: one of each second, one from before, and the present one.
const MostReady = int(ReadyFor/time.Second) + 2

// Ready are the numbers of ready pods of the last ReadyFor, oldest first. Each holds from its time to the next one's.
type Ready []ReadyPods

// ReadyPods is the number of ready pods from a time on.
type ReadyPods struct {
	Time time.Time `json:"time"`
	Pods int32     `json:"pods"`
}

// Observe records the number of ready pods, and since when all of them have been ready. A larger number counts from
// that time, even if it is observed later: before it the new pods had no part of the load. Changes within a second are
// merged.
func (r Ready) Observe(now time.Time, pods int32, since time.Time) Ready {
	n := len(r)
	if n > 0 && r[n-1].Pods == pods {
		return r.expire(now)
	}
	at := now
	if n > 0 && pods > r[n-1].Pods && since.Before(now) {
		at = since
	}
	if n > 0 && at.Sub(r[n-1].Time) < time.Second && (n > 1 || !at.After(r[0].Time)) {
		r[n-1].Pods = pods
		return r.expire(now)
	}
	return append(r.expire(now), ReadyPods{Time: at, Pods: pods})
}

// expire drops entries that ended longer ago than ReadyFor. It keeps the buffer.
func (r Ready) expire(now time.Time) Ready {
	cutoff, n := now.Add(-ReadyFor), 0
	for n+1 < len(r) && !r[n+1].Time.After(cutoff) {
		n++
	}
	if n == 0 {
		return r
	}
	return append(r[:0], r[n:]...)
}

// Part is the share of the load of each ready pod from a time on, in nanoseconds since 1970.
type Part struct {
	began int64
	part  float64
}

// Parts returns the shares of the load of each ready pod, newest first, if all had the same. A share is 0 if no pod was
// ready. They are appended to room.
func (r Ready) Parts(room []Part) []Part {
	for i := len(r) - 1; i >= 0; i-- {
		part := Part{began: arithmetic.Nanos(r[i].Time)}
		if r[i].Pods > 0 {
			part.part = 1 / float64(r[i].Pods)
		}
		room = append(room, part)
	}
	return room
}

// Share returns the mean share of each pod in the window up to a time, in nanoseconds since 1970.
func Share(parts []Part, to int64, window time.Duration) float64 {
	sum, end := 0.0, to
	from := end - int64(window)
	for i := range parts {
		switch p := &parts[i]; {
		case i+1 == len(parts) || p.began <= from:
			return (sum + float64(end-from)*p.part) / float64(window)
		case p.began < end:
			sum += float64(end-p.began) * p.part
			end = p.began
		}
	}
	return 0
}
