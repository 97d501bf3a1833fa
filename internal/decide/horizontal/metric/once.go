package metric

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/recent"
)

// The load of a target is the sum of what its pods use. Their samples are of different times, and load moves between
// pods, so that a part of it may be in two samples. It counts once (divergence load-once):
//
//   - A pod that becomes ready takes over a part of what the others had. Where a sample reaches back to when fewer pods
//     were ready (Context.Ready), its pod had a larger part then: it counts as if the load had been shared by as many
//     as now. Where as many pods went as came, as in a rollout, nobody's part has changed.
//   - What has moved from one pod to another since the older of their samples is in both. That is at most what made the
//     pods unequal at the last moment of which all are known (Reading.Earlier): the use of each beyond the least of
//     them. Nor is it more than what all use now beyond what they did then. Within the tolerance it decides nothing.

// partOf is what a pod used whose window reaches back to when fewer pods were ready, and what it would have used if as
// many had been as now.
type partOf struct {
	pod           int
	milli, shared float64
}

// shared is what the pods that count use, as if the load had been shared by as many pods as now for the whole of each
// window. Where more pods have a part of the load than count, what those have is not known, and left out. None is taken
// to use less than those do on average whose window began after that: pods that are saturated use as much before and
// after.
func (p *perPod) shared(by *grouping, groups []Group, n *sizes, young *recent.Pods) (used int64) {
	pods, parts := float64(n[Counted]+n[Unsampled]), p.c.Room[:0]
	now, of := 0.0, 0.0
	var room [history.MostReady]history.Part
	ready := p.c.Ready.Parts(room[:0])
	for i, g := range groups {
		if g != Counted {
			continue
		}
		sample := &p.reading.Samples[i]
		milli, part := float64(sample.Milli), 1.0
		if sample.Window > 0 && !sample.At.IsZero() {
			part = 1 / (pods * history.Share(ready, p.c.past(sample.At), sample.Window))
		}
		switch isStarting := sample.At.Sub(p.c.Pods[i].ReadyTransition) < recent.Start; {
		case part < 1:
			parts = append(parts, partOf{i, milli, milli * part})
			continue
		case !isStarting:
			now += milli
			of++
		}
		used = p.sum.Add(used, sample.Milli)
		p.addYoung(by, young, i, sample.Milli)
	}
	now /= max(1, of)
	for _, o := range parts {
		milli := int64(min(o.milli, max(o.shared, now)))
		used = p.sum.Add(used, milli)
		p.addYoung(by, young, o.pod, milli)
	}
	p.c.Room = parts
	return used
}

// addYoung takes in a pod that counts with so much, if it is in its initialization period.
func (p *perPod) addYoung(by *grouping, young *recent.Pods, i int, milli int64) {
	pod := &p.c.Pods[i]
	if !by.isYoung(pod) {
		return
	}
	request := int64(0)
	if p.percent {
		request = p.reading.Requests[i].Milli
	}
	young.Add(p.reading.Samples[i].At.Sub(pod.ReadyTransition), milli, request)
}

// countOnce leaves out what may be in two samples where more replicas are asked for, and adds what may be in none where
// fewer are.
func (p *perPod) countOnce() {
	r := p.result
	if !p.c.Divergences.Has(divergence.LoadOnce) || p.c.Tolerance.Within(r.Ratio) ||
		len(p.reading.Earlier) != len(r.Groups) {
		return
	}
	before, unequal := p.together()
	moved := min(max(0, unequal-int64(p.c.Tolerance.Up*float64(before))), max(p.used-before, before-p.used))
	if moved <= 0 || (r.Ratio > 1) != (p.used > before) {
		return
	}
	if r.Ratio < 1 {
		moved = -moved
	}
	isAbove := r.Ratio > 1
	p.used -= moved
	if r.Ratio, r.Percent, r.Milli = p.ratio(); isAbove != (r.Ratio > 1) {
		r.Ratio = 1
	}
	r.MovedMilli = moved
}

// together is what the pods that count used up to the last moment of which all are known, and how much of that made
// them unequal. A pod that was not ready then counts as now.
func (p *perPod) together() (used, unequal int64) {
	least, known := int64(0), int64(0)
	for i, g := range p.result.Groups {
		if g != Counted {
			continue
		}
		e := &p.reading.Earlier[i]
		if !e.Present {
			used = p.sum.Add(used, p.reading.Samples[i].Milli)
			continue
		}
		used, unequal = p.sum.Add(used, e.Milli), p.sum.Add(unequal, e.Milli)
		if known == 0 || e.Milli < least {
			least = e.Milli
		}
		known++
	}
	return used, unequal - known*least
}
