package world

import "time"

// The defaults of a Deployment's rolling update: up to a quarter more pods than wanted, rounded up, and up to a quarter
// fewer that are ready, rounded down.
const updatePart = 4

// rollout replaces the pods that were there when it began.
type rollout struct {
	// before is the number of the first pod of the new template; 0 if no rollout is under way.
	before int
	// due are when further ones begin.
	due []time.Duration
}

// counts are pods, without those that are to go.
type counts struct {
	present, old, ready, newUnready int32
}

func (r *rollout) count(pods []*Pod) (c counts) {
	for _, p := range pods {
		if p.Deleting {
			continue
		}
		c.present++
		if p.IsReady {
			c.ready++
		}
		if r.isOld(p) {
			c.old++
		} else if !p.IsReady {
			c.newUnready++
		}
	}
	return c
}

func (r *rollout) isOld(p *Pod) bool { return p.Number < r.before }

// surge is how many pods more than wanted there may be now.
func (r *rollout) surge(want int32) int32 {
	if r.before == 0 {
		return 0
	}
	return (want + updatePart - 1) / updatePart
}

// goOn begins rollouts that are due, and goes on with the last one as far as it may: new pods come within the surge,
// old ones that are not ready go, and then others as new ones become ready (Kubernetes 1.37, rolling.go of
// pkg/controller/deployment). A Deployment that is scaled meanwhile shares the change between its ReplicaSets; here
// only the new one grows.
func (r *rollout) goOn(w *World) {
	for len(r.due) > 0 && r.due[0] <= w.now {
		r.due, r.before = r.due[1:], w.born
	}
	if r.before == 0 {
		return
	}
	c := r.count(w.pods)
	for n := min(w.want-(c.present-c.old), w.want+r.surge(w.want)-c.present); n > 0; n-- {
		create(w)
		c.present++
		c.newUnready++
	}
	leastReady := w.want - w.want/updatePart
	for c.old > 0 && c.present-c.newUnready > leastReady && r.removeOld(w, &c, leastReady) {
	}
	if c.old == 0 {
		r.before = 0
		w.Scale(w.want)
	}
	w.place()
}

// removeOld lets an old pod go, and reports whether one may: one that is not ready, or one that is if enough are.
func (r *rollout) removeOld(w *World, c *counts, leastReady int32) bool {
	switch oldReady := c.ready - (c.present - c.old - c.newUnready); {
	case c.old > oldReady:
		w.remove(func(p *Pod) bool { return r.isOld(p) && !p.IsReady })
	case c.ready > leastReady:
		w.remove(func(p *Pod) bool { return r.isOld(p) && p.IsReady })
		c.ready--
	default:
		return false
	}
	c.present--
	c.old--
	return true
}
