package history

import "time"

// ReadyFor is how far back the numbers of ready pods are remembered: as far as samples reach that a decision uses.
const ReadyFor = 40 * time.Second

// Ready are the numbers of ready pods of the last ReadyFor, oldest first. Each holds from its time to the next one's.
type Ready []ReadyPods

// ReadyPods is how many pods were ready from a time on.
type ReadyPods struct {
	Time time.Time `json:"time"`
	Pods int32     `json:"pods"`
}

// Observe takes in how many pods are ready now, and since when all of them have been. More pods are ready since then,
// even if that is observed later: until then they had no part of the load. Changes within a second are one.
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

// expire forgets what held until longer ago than ReadyFor. The buffer stays.
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

// Share is the part of the load that each pod had on average between two times, if all had the same. It is 0 where no
// pod was ready.
func (r Ready) Share(from, to time.Time) float64 {
	sum, at := 0.0, from
	for i := range r {
		end := to
		if i+1 < len(r) && r[i+1].Time.Before(to) {
			end = r[i+1].Time
		}
		if !end.After(at) {
			continue
		}
		if r[i].Pods > 0 {
			sum += end.Sub(at).Seconds() / float64(r[i].Pods)
		}
		at = end
	}
	return sum / to.Sub(from).Seconds()
}
