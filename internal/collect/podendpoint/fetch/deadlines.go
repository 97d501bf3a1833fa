package fetch

import (
	"context"
	"net"
	"sync"
	"time"
)

// past is a deadline that ends every read and write on a connection.
var past = time.Unix(1, 0)

// cancelDelay is the longest time from the end of its context to the end of a request.
const cancelDelay = 20 * time.Millisecond

// deadlines ends requests that take too long or whose contexts end. Most have the same timeout, so that they end in the
// order in which they began, and one timer is enough: with a deadline for each connection, as package net has it, the
// timers of ten thousand connections took a seventh of the CPU of all scrapes. Contexts are polled for the same reason:
// context.AfterFunc took a thirtieth.
type deadlines struct {
	// mu guards the following.
	mu sync.Mutex
	// first and last are the requests under way.
	first, last *flight
	timer       *time.Timer
	isArmed     bool
	// due is when the timer fires if it is armed.
	due time.Time
}

// flight is a request under way.
type flight struct {
	ctx            context.Context //nolint:containedctx // it ends the request
	conn           net.Conn
	ends           time.Time
	isOver         bool
	before, behind *flight
}

// begin puts a request last.
func (d *deadlines) begin(ctx context.Context, f *flight, conn net.Conn, ends time.Time) {
	*f = flight{ctx: ctx, conn: conn, ends: ends}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A request that had to connect began earlier than it gets here, and one with a shorter timeout ends before others.
	at := d.last
	for at != nil && at.ends.After(ends) {
		at = at.before
	}
	d.insertLocked(f, at)
	if !d.isArmed || ends.Before(d.due) {
		d.armLocked(time.Now())
	}
}

// insertLocked inserts a request behind another one, nil for the front.
func (d *deadlines) insertLocked(f, at *flight) {
	f.before, f.behind = at, d.first
	if at != nil {
		f.behind = at.behind
		at.behind = f
	} else {
		d.first = f
	}
	if f.behind != nil {
		f.behind.before = f
	} else {
		d.last = f
	}
}

// end removes a request, and reports whether its deadline ended it.
func (d *deadlines) end(f *flight) (isOver bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !f.isOver {
		d.removeLocked(f)
	}
	f.ctx, f.conn = nil, nil
	return f.isOver
}

func (d *deadlines) removeLocked(f *flight) {
	if f.before != nil {
		f.before.behind = f.behind
	} else {
		d.first = f.behind
	}
	if f.behind != nil {
		f.behind.before = f.before
	} else {
		d.last = f.before
	}
	f.before, f.behind = nil, nil
}

// armLocked sets the timer to the earliest deadline, or to the next check of contexts.
func (d *deadlines) armLocked(now time.Time) {
	wait := min(d.first.ends.Sub(now), cancelDelay)
	d.isArmed, d.due = true, now.Add(wait)
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, d.expire)
		return
	}
	d.timer.Reset(wait)
}

func (d *deadlines) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for f := d.first; f != nil; {
		behind := f.behind
		if !f.ends.After(now) || f.ctx.Err() != nil {
			d.removeLocked(f)
			f.isOver = true
			_ = f.conn.SetDeadline(past) // a closed connection has ended as well
		}
		f = behind
	}
	d.isArmed = d.first != nil
	if d.isArmed {
		d.armLocked(now)
	}
}
