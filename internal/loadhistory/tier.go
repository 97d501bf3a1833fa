package loadhistory

import (
	"math"
	"slices"
	"time"
)

// tier has the points of one resolution. Time is counted in its steps since the Unix epoch.
type tier struct {
	// slots are the oldest first. Each begins after the end of the one before.
	slots []slot
	// end is at the end of the last slot.
	end coder
	// now is the step that has not ended.
	now present
}

// present is a step that points are added to.
type present struct {
	step int64
	// isAny is true if there was a point. seconds counts the seconds of the step with a known load, sum is that of their
	// loads.
	isAny        bool
	seconds, sum float64
	last         values
}

// hold counts a load for the seconds of the step that it held.
func (n *present) hold(g *grain, m *moment) {
	every := int64(g.every / time.Second)
	begin := n.step * every
	if held := min(m.until, begin+every) - max(m.second, begin); held > 0 && m.isAny && !math.IsNaN(m.load) {
		n.seconds += float64(held)
		n.sum += float64(held) * m.load
	}
}

// stray is how long before the last step a moment may be without the clock having been wrong.
const stray = 2 * time.Minute

// add adds a moment. The load of the one before counts for the time that it held.
func (t *tier) add(g *grain, at time.Time, p *Point, before *moment) {
	n, step := &t.now, g.step(at)
	latest, isAny := t.latest()
	switch {
	case !isAny || n.isAny && step == n.step:
	case step > latest:
		t.flush(g, before)
	case g.start(latest).Sub(at) <= stray:
		return
	default:
		*n = present{}
		t.forget(step)
	}
	n.step, n.isAny = step, true
	n.hold(g, before)
	n.last = values{perPod: p.PerPodMilli, wanted: p.Wanted, ready: p.Ready, limit: p.Limit}
}

// latest returns the step that has not ended, or the last one that has.
func (t *tier) latest() (step int64, isAny bool) {
	if t.now.isAny || len(t.slots) == 0 {
		return t.now.step, t.now.isAny
	}
	return t.end.next - 1, true
}

// flush makes a point of the step, if it has any moment.
func (t *tier) flush(g *grain, before *moment) {
	n := &t.now
	if !n.isAny {
		return
	}
	n.hold(g, before)
	v := n.last
	if n.seconds > 0 {
		v.load = codeOf(n.sum / n.seconds)
	}
	t.append(g, n.step, &v)
	*n = present{}
}

func (t *tier) append(g *grain, step int64, v *values) {
	n := len(t.slots)
	if n > 0 && t.slots[n-1].append(&t.end, step, v) {
		return
	}
	switch {
	case n >= g.slots:
		t.slots = slices.Delete(t.slots, 0, n-g.slots+1)
	case n == cap(t.slots):
		// No more than is needed: there are thousands of objects.
		t.slots = append(make([]slot, 0, min(n+4, g.slots)), t.slots...)
	}
	t.slots, t.end = append(t.slots, slot{first: step}), coderAt(step)
	t.slots[len(t.slots)-1].append(&t.end, step, v)
}

// forget drops the points from a step on.
func (t *tier) forget(step int64) {
	for len(t.slots) > 0 {
		var isAny bool
		if t.end, isAny = t.slots[len(t.slots)-1].forget(step); isAny {
			return
		}
		t.slots = t.slots[:len(t.slots)-1]
	}
}

// merge puts an earlier tier's points before this one's. They are packed together: if each start of a controller began
// a slot, those of a day full of starts would displace the points of weeks.
func (t *tier) merge(g *grain, earlier *tier) {
	own, now := t.slots, t.now
	begin, isAny := now.step, now.isAny
	if len(own) > 0 {
		begin, isAny = own[0].first, true
	}
	t.slots, t.end = slices.Clone(earlier.slots), earlier.end
	if !isAny {
		t.now = earlier.now
		return
	}
	t.forget(begin)
	for i := range own {
		own[i].each(func(step int64, v values) bool {
			t.append(g, step, &v)
			return true
		})
	}
}

func (t *tier) first(g *grain) (at time.Time, found bool) {
	if len(t.slots) == 0 {
		return at, false
	}
	return g.start(t.slots[0].first), true
}

// each calls yield with all points, and reports whether it always returned true.
func (t *tier) each(g *grain, yield func(p *Point) bool) bool {
	for i := range t.slots {
		if !t.slots[i].each(func(step int64, v values) bool {
			p := v.point()
			p.At, p.Every = g.start(step), g.every
			return yield(&p)
		}) {
			return false
		}
	}
	return true
}
