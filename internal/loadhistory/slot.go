package loadhistory

// slotBytes is the size of a slot's points.
const slotBytes = 374

// slot has consecutive points. It can be decoded without earlier slots.
type slot struct {
	// first is the step of its first point.
	first int64
	// used is in bits.
	used uint16
	data [slotBytes]byte
}

// append encodes a point, unless there is no room. The coder is at the slot's end.
func (s *slot) append(c *coder, step int64, v *values) bool {
	if step-c.next > longestGap {
		return false
	}
	after, to := *c, stream{data: s.data[:], at: int(s.used), end: 8 * slotBytes}
	if after.code(&to, step, v); to.isBroken {
		return false
	}
	*c, s.used = after, uint16(to.at)
	return true
}

func (s *slot) bytes() int { return (int(s.used) + 7) / 8 }

// reader decodes a slot. It treats it as untrusted: isBroken is true if the bits are not append's.
type reader struct {
	coder
	stream
}

// readerOf returns a reader before the first point.
func readerOf(s *slot) reader {
	return reader{coderAt(s.first), stream{data: s.data[:], end: int(s.used), isReading: true}}
}

// more decodes the next point, and reports whether there is one.
func (r *reader) more() bool {
	if r.isBroken || r.at >= r.end {
		return false
	}
	r.code(&r.stream, 0, &values{})
	return !r.isBroken
}

// each calls yield with the points, and reports whether it always returned true.
func (s *slot) each(yield func(step int64, v values) bool) bool {
	r := readerOf(s)
	for r.more() {
		if !yield(r.coder.next-1, r.values) {
			return false
		}
	}
	return true
}

// last returns a coder at the slot's end. The slot is fine if each of its bits belongs to a point, and it has at least
// one.
func (s *slot) last() (c coder, isFine bool) {
	r := readerOf(s)
	isAny := false
	for r.more() {
		isAny = true
	}
	return r.coder, isAny && !r.isBroken
}

// forget drops the points from a step on, and reports whether any are left. The coder is at their end.
func (s *slot) forget(step int64) (c coder, isAny bool) {
	r := readerOf(s)
	for {
		c, s.used = r.coder, uint16(r.at)
		if !r.more() || r.coder.next > step {
			return c, s.used > 0
		}
	}
}
