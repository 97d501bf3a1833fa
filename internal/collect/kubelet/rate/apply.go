package rate

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

// The bounds on how much further the node's clock may advance between samples than the local clock.
const (
	// A smaller change of the clock is ignored: delays of responses look the same.
	smallestJumpMillis = 2000
	// A first sample can be as old as cAdvisor lets those of containers without changes become.
	firstJumpMillis = 30_000
)

// apply carries the readings into the node's containers.
func (b *batch) apply() {
	n := b.node
	n.before, n.round, n.arrivedMillis = n.round, n.attempt, b.localMillis
	former := len(n.order)
	n.order = n.order[:0]
	newest := int64(0)
	for i := range b.readings {
		r := &b.readings[i]
		c := r.container
		n.order = append(n.order, c)
		c.seen, c.memoryBytes, c.refused = n.round, r.memoryBytes, r.refused
		if r.memoryBytes > 0 {
			c.memory.add(r.memoryMillis, r.memoryBytes)
		}
		if r.hasCPU {
			b.count(b.observe(r))
			newest = max(newest, r.cpuMillis)
		}
		if r.startMillis > 0 {
			c.startMillis = r.startMillis
		}
	}
	// The rest of the array must not keep deleted containers in memory.
	clear(n.order[len(n.order):max(former, len(n.order))])
	if newest > 0 {
		b.round.Newest = time.UnixMilli(newest)
	}
	b.round.Containers = len(b.readings)
	if n.known > len(b.readings) {
		before := n.before
		b.round.Gone = n.sweepLocked(func(c *container) bool { return c.seen >= before })
	}
}

// effect is the effect of a CPU sample on its container's history.
type effect uint8

const (
	continued effect = iota
	same
	first
	restarted
	clockJumped
	interrupted
)

func (b *batch) count(e effect) {
	switch e {
	case same:
		b.round.Same++
		return
	case restarted:
		b.round.Restarts++
	case clockJumped:
		b.round.ClockJumps++
	case interrupted:
		b.round.Gaps++
	case continued, first:
	}
	b.round.Fresh++
}

func (b *batch) observe(r *reading) effect {
	c := r.container
	e := b.effect(r)
	switch e {
	case same:
		return e
	case continued:
		c.cpu.Add(r.cpuMillis, r.cpuNanos, b.spanMillis)
	default:
		c.cpu.Begin(r.cpuMillis, r.cpuNanos)
	}
	c.arrivedMillis = b.localMillis
	return e
}

// effect judges a sample; the rules and their reasons are in the package comment.
func (b *batch) effect(r *reading) effect {
	c := r.container
	gap := r.cpuMillis - c.cpu.NewestMillis()
	switch {
	case c.cpu.Len() == 0:
		return first
	case gap < 0:
		return clockJumped
	case r.startMillis > c.cpu.NewestMillis() && r.startMillis != c.startMillis:
		return restarted
	case gap < podload.ShortestGap.Milliseconds():
		return same
	case r.cpuNanos < c.cpu.NewestNanos():
		return restarted
	case gap > b.localMillis-c.arrivedMillis+c.leewayMillis():
		return clockJumped
	case gap > LongestGap.Milliseconds():
		return interrupted
	}
	return continued
}

// leewayMillis bounds the age of the newest sample at its arrival: about the age that samples reach before a newer one
// replaces them.
func (c *container) leewayMillis() int64 {
	if c.cpu.Len() < 2 {
		return firstJumpMillis
	}
	last := c.cpu.LastGapMillis()
	return max(smallestJumpMillis, last+last/2)
}
