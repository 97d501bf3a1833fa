package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
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

// use is what a pod that counts uses, and requests where that is compared.
type use struct {
	milli, wanted int64
	// readyFor is how long it had been ready when its sample was taken.
	readyFor time.Duration
	// share is the part of the load that each ready pod had in the sample's window.
	share float64
	// isYoung is set if a part of it may be the pod's start.
	isYoung bool
}

// shared returns what the pods that count use, as if the load had been shared by as many pods as now for the whole of
// each window. Where more pods have a part of the load than count, what those have is not known, and left out. None is
// taken to use less than those do on average whose window began after that: pods that are saturated use as much before
// and after.
func (p *perPod) shared(uses []use, pods float64, young *recentPods) (used int64) {
	now, of, parts := 0.0, 0.0, uses[:0]
	for i := range uses {
		u := &uses[i]
		if pods*u.share > 1 {
			parts = append(parts, *u)
			continue
		}
		if u.readyFor >= PodStart {
			now += float64(u.milli)
			of++
		}
		used = p.sum.Add(used, u.milli)
		u.addTo(young)
	}
	now /= max(1, of)
	for i := range parts {
		u := &parts[i]
		milli := float64(u.milli)
		u.milli = int64(min(milli, max(milli*(1/(pods*u.share)), now)))
		used = p.sum.Add(used, u.milli)
		u.addTo(young)
	}
	return used
}

// share returns the part of the load that each ready pod had in the window of a sample of a time; 0 where that is not
// known.
func (by *grouping) share(parts []history.Part, at int64, s *Sample) float64 {
	if s.Window <= 0 || s.At.IsZero() {
		return 0
	}
	return history.Share(parts, min(at, by.now), s.Window)
}

// addTo adds the pod's use if it is in its initialization period.
func (u *use) addTo(young *recentPods) {
	if u.isYoung {
		young.Add(u.readyFor, u.milli, u.wanted)
	}
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

// together returns what the pods that count used up to the last moment of which all are known, and how much of that
// made them unequal. A pod that was not ready then counts as now.
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
