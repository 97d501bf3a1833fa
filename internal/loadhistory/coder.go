package loadhistory

import "math"

// values are a point's.
type values struct {
	load          uint16
	limit         Limit
	wanted, ready int32
	perPod        float32
}

func (v *values) point() Point {
	return Point{Load: loadOf(v.load), PerPodMilli: v.perPod, Wanted: v.wanted, Ready: v.ready, Limit: v.limit}
}

// Codes of loads: two percent apart, from a thousandth of a pod on.
const (
	unknownCode, zeroCode, firstCode = 0, 1, 2
	leastLoad, codeStep              = 1e-3, 0.02
	// mostLoad is the maximum load in pods, as that of replica counts.
	mostLoad = math.MaxInt32
)

// mostCode is the largest code that is written.
var mostCode = codeOf(mostLoad)

func codeOf(load float64) uint16 {
	switch {
	case math.IsNaN(load):
		return unknownCode
	case load < leastLoad/2:
		return zeroCode
	}
	return uint16(firstCode + math.Round(max(0, math.Log(min(load, mostLoad)/leastLoad)/codeStep)))
}

func loadOf(code uint16) float64 {
	switch code {
	case unknownCode:
		return math.NaN()
	case zeroCode:
		return 0
	}
	return min(mostLoad, leastLoad*math.Exp(codeStep*float64(code-firstCode)))
}

// coder encodes and decodes the points of a slot, each as its differences from the one before.
type coder struct {
	values
	// next is the step after the last point.
	next int64
	// known is the last known load. otherLimit and otherPerPod are those before the last change: often the values
	// alternate between two.
	known       uint16
	otherLimit  Limit
	otherPerPod float32
	// changes ranks the sets of changes besides the load, counts those of the counts.
	changes, counts            ranks
	loads, wants, both, readys golomb
}

// The changes besides the load.
const (
	countsChange = 1 << iota
	limitChanges
	perPodChanges
	// knownChanges: the load becomes known, or unknown.
	knownChanges
	// isAfterGap: there are steps without a point before.
	isAfterGap
	allChanges = 5
)

// The changes of the counts.
const (
	// readyFollows: both change, and ready equals wanted.
	readyFollows = iota
	// readyCatchesUp: only ready changes, and equals wanted.
	readyCatchesUp
	// wantedChanges: only wanted changes.
	wantedChanges
	// bothChange: both change, or only ready.
	bothChange
)

// coderAt returns a coder for a slot whose first point is at a step.
func coderAt(step int64) coder {
	return coder{
		next: step, known: zeroCode,
		changes: ranks{
			0, countsChange, limitChanges, countsChange | limitChanges, perPodChanges, countsChange | perPodChanges,
			limitChanges | perPodChanges, countsChange | limitChanges | perPodChanges,
		},
		counts: ranks{readyFollows, readyCatchesUp, wantedChanges, bothChange},
		loads:  golomb{sum: 4, n: 1}, wants: golomb{sum: 1, n: 1}, both: golomb{sum: 1, n: 1}, readys: golomb{sum: 1, n: 1},
	}
}

// longestGap is in steps.
const longestGap = math.MaxUint32

// code encodes or decodes the point of a step. A decoder ignores its argument; the coder has the point afterwards.
func (c *coder) code(s *stream, step int64, to *values) {
	changes := c.codeChanges(s, c.changed(step, to))
	if changes&isAfterGap != 0 {
		c.next += int64(s.number(uint32(step - c.next)))
	}
	if changes&countsChange != 0 {
		c.codeCounts(s, to)
	}
	if changes&limitChanges != 0 {
		c.codeLimit(s, to.limit)
	}
	if changes&perPodChanges != 0 {
		c.codePerPod(s, to.perPod)
	}
	if (changes&knownChanges != 0) == (c.load == unknownCode) {
		difference := unsigned(c.loads.code(s, signed(int64(to.load)-int64(c.known))))
		known := int64(c.known) + difference
		s.isBroken = s.isBroken || known < zeroCode || known > int64(mostCode)
		c.known = uint16(known)
		c.load = c.known
	} else {
		c.load = unknownCode
	}
	c.next++
}

func (c *coder) changed(step int64, to *values) (changes uint8) {
	if step != c.next {
		changes |= isAfterGap
	}
	if to.wanted != c.wanted || to.ready != c.ready {
		changes |= countsChange
	}
	if to.limit != c.limit {
		changes |= limitChanges
	}
	if isOther(to.perPod, c.perPod) {
		changes |= perPodChanges
	}
	if (to.load == unknownCode) != (c.load == unknownCode) {
		changes |= knownChanges
	}
	return changes
}

// isOther reports whether the load per pod differs by enough to be worth its bits.
func isOther(a, b float32) bool { return math.Abs(float64(a-b)) > 0.001*math.Abs(float64(b)) }

func (c *coder) codeChanges(s *stream, changes uint8) uint8 {
	const none = uint32(len(c.changes))
	place := s.unary(c.changes.find(changes), none)
	if place == none {
		place--
		c.changes[place] = uint8(s.bits(uint32(changes), allChanges))
	}
	changes = c.changes[place]
	c.changes.use(place)
	return changes
}

func (c *coder) codeCounts(s *stream, to *values) {
	place := s.unary(c.counts.find(c.how(to)), bothChange)
	how := c.counts[place]
	c.counts.use(place)
	wanted, ready := int64(c.wanted), int64(c.ready)
	switch how {
	case readyFollows, wantedChanges:
		wanted += unsigned(c.wants.code(s, signed(int64(to.wanted)-wanted)-1) + 1)
	case bothChange:
		wanted += unsigned(c.both.code(s, signed(int64(to.wanted)-wanted)))
		ready += unsigned(c.readys.code(s, signed(int64(to.ready)-ready)))
	}
	if how == readyFollows || how == readyCatchesUp {
		ready = wanted
	}
	s.isBroken = s.isBroken || min(wanted, ready) < 0 || max(wanted, ready) > math.MaxInt32
	c.wanted, c.ready = int32(wanted), int32(ready)
}

func (c *coder) how(to *values) uint8 {
	switch isSame := to.wanted == c.wanted; {
	case to.ready == to.wanted && isSame:
		return readyCatchesUp
	case to.ready == to.wanted:
		return readyFollows
	case to.ready == c.ready && !isSame:
		return wantedChanges
	}
	return bothChange
}

func (c *coder) codeLimit(s *stream, to Limit) {
	before := c.limit
	if s.flag(to == c.otherLimit) {
		c.limit = c.otherLimit
	} else {
		c.limit = Limit(s.bits(uint32(to), 4))
		s.isBroken = s.isBroken || c.limit >= limits
	}
	c.otherLimit = before
}

func (c *coder) codePerPod(s *stream, to float32) {
	before := c.perPod
	if s.flag(!isOther(to, c.otherPerPod)) {
		c.perPod = c.otherPerPod
	} else {
		c.perPod = math.Float32frombits(s.bits(math.Float32bits(to), 32))
		s.isBroken = s.isBroken || !(c.perPod >= 0 && c.perPod <= math.MaxFloat32)
	}
	c.otherPerPod = before
}
