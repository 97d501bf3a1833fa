package fetch

import (
	"net"
	"sync"
	"time"
)

// past is a deadline that ends whatever is under way on a connection.
var past = time.Unix(1, 0)

// deadlines end requests that take too long. All have the same time, so that they end in the order in
// which they began, and one timer is enough: with a deadline for each connection, as package net has
// it, the timers of ten thousand connections took a seventh of the CPU of all scrapes.
type deadlines struct {
	// mu guards the following.
	mu sync.Mutex
	// first and last are the requests under way.
	first, last *flight
	timer       *time.Timer
	isArmed     bool
}

// flight is a request under way.
type flight struct {
	conn           net.Conn
	ends           time.Time
	isOver         bool
	before, behind *flight
}

// begin puts a request last.
func (d *deadlines) begin(f *flight, conn net.Conn, ends time.Time) {
	*f = flight{conn: conn, ends: ends}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A request that had to connect began earlier than it gets here.
	at := d.last
	for at != nil && at.ends.After(ends) {
		at = at.before
	}
	d.insert(f, at)
	if d.first == f || !d.isArmed {
		d.arm()
	}
}

// insert puts a request behind another one, nil for the first place.
func (d *deadlines) insert(f, at *flight) {
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

// end takes out a request, and tells whether its time was over.
func (d *deadlines) end(f *flight) (isOver bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !f.isOver {
		d.remove(f)
	}
	f.conn = nil
	return f.isOver
}

func (d *deadlines) remove(f *flight) {
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

// arm sets the timer to when the first one ends. A timer that is set for one that has ended by then
// is set again then.
func (d *deadlines) arm() {
	wait := time.Until(d.first.ends)
	d.isArmed = true
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
	for d.first != nil && !d.first.ends.After(now) {
		f := d.first
		d.remove(f)
		f.isOver = true
		_ = f.conn.SetDeadline(past) // a connection that is closed has ended as well
	}
	d.isArmed = d.first != nil
	if d.isArmed {
		d.arm()
	}
}
