package campaign

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// nodeFamilies differ in what happens to nodes.
var nodeFamilies = []family{
	{name: "dead", cases: 12, build: deadCase},
	{name: "clock", cases: 20, build: clockCase},
}

func deadCase(c *Case, r random, _ int) {
	whole := func(least, most float64) time.Duration { return time.Duration(r.between(least, most)) * time.Second }
	o := world.Outage{From: whole(100, 300), To: whole(350, 900)}
	o.Groups = int(r.of(1, 1, 2, 3))
	c.Outages = []world.Outage{o}
	base, factor := r.scaled(2, 10), r.of(1, 1.6, 3)
	c.step(base, factor, 400)
	c.note("%.1f pods, times %.1f; the kubelets of %d of 3 groups of nodes do not answer from %v to %v", base, factor,
		o.Groups, o.From, o.To)
}

func clockCase(c *Case, r random, _ int) {
	ahead := r.of(0.7, 2, 4, 8, 12, 20, 30)
	ahead *= r.of(-1, 1)
	c.ClockOffsets = []time.Duration{0, time.Duration(ahead * float64(time.Second)), 0}
	base, factor := r.scaled(1, 10), r.of(1, 1.5, 2, 4)
	c.step(base, factor, 400)
	c.note("%.1f pods, times %.1f; the clocks of a third of the nodes are %+.1f s ahead", base, factor, ahead)
}
