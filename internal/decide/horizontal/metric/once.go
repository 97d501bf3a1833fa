package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// The load of a target is the sum of the usage of its pods. Their samples have different times, and load moves between
// pods, so that two samples may contain the same part of it. The divergence load-once counts that part once:
//
//  - A pod that becomes ready takes over a share of the load of the others. If a sample reaches back to when fewer
//    pods were ready (Context.Ready), its pod had a larger share then: it counts as if as many pods as now had shared
//    the load. If as many pods ended as started, as in a rollout, no share has changed.
//  - Load that has moved from one pod to another since the older of their samples is in both. It is at most the
//    difference between the pods at the last moment at which all are known (Reading.Earlier): the usage of each beyond
//    the smallest. It is at most the increase of their total usage since then, too. Within the tolerance it changes no
//    decision.

// use is the use of a pod that counts, and its request if that is compared.
type use struct {
	milli, wanted int64
	// readyFor is the time for which it had been ready when its sample was taken.
	readyFor time.Duration
	// share is the share of the load of each ready pod in the sample's window.
	share float64
	// isYoung is set if a part of it may be the pod's start.
	isYoung bool
}

// shared returns the use of the pods that count, as if the load had been shared by as many pods as now for the whole of
// each window. If more pods have a share of the load than count, the shares of the others are unknown, and excluded. No
// pod counts with less than the mean use of those whose windows began after that: saturated pods use as much before as
// after.
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

// share returns the share of each ready pod in the window of a sample with this time; 0 if unknown.
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

// countOnce subtracts the load that may be in two samples if more replicas are proposed, and adds the load that may be
// in none if fewer are.
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

// together returns the use of the pods that count up to the last moment at which all are known, and the part of it by
// which they differ. A pod that was not ready then counts as it does now.
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
