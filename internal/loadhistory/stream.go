package loadhistory

import "math/bits"

// stream writes bits to data, or reads them: each of its methods is given what to write, and returns what was written
// or read. What is given to one that reads does not matter. So what writes points reads them, too.
type stream struct {
	data []byte
	// at is the next bit, end the one after the last that there is room for, or that there is.
	at, end   int
	isReading bool
	// isBroken says that there is no more room, or that what was read was not written by a stream.
	isBroken bool
}

// bits has the lowest n bits of v, 32 at most.
func (s *stream) bits(v uint32, n int) (same uint32) {
	if s.isBroken = s.isBroken || s.at+n > s.end; s.isBroken {
		return 0
	}
	for n > 0 {
		b, room := &s.data[s.at/8], 8-s.at%8
		part := min(room, n)
		shift, mask := room-part, byte(1<<part-1)
		if !s.isReading {
			*b = *b&^(mask<<shift) | byte(v>>(n-part))&mask<<shift
		}
		same = same<<part | uint32(*b>>shift&mask)
		s.at, n = s.at+part, n-part
	}
	return same
}

func (s *stream) flag(v bool) bool {
	if v {
		return s.bits(1, 1) == 1
	}
	return s.bits(0, 1) == 1
}

// unary has a small number that is most at most: a bit for each, and one after them if they are fewer than most.
func (s *stream) unary(v, most uint32) (same uint32) {
	for same < most && s.flag(same < v) {
		same++
	}
	return same
}

// number has any number: how many bits it has, and these.
func (s *stream) number(v uint32) uint32 {
	n := s.bits(uint32(bits.Len32(v)), 6)
	if s.isBroken = s.isBroken || n > 32; s.isBroken {
		return 0
	}
	return s.bits(v, int(n))
}

// signed maps numbers to those that are not negative, small ones to small ones: 0, -1, 1, -2, ...
func signed(v int64) uint32 { return uint32(v<<1) ^ uint32(v>>63) }

func unsigned(v uint32) int64 { return int64(v>>1) ^ -int64(v&1) }

// golomb has numbers that are mostly about as large as those before.
type golomb struct {
	// sum is that of the latest n numbers.
	sum, n uint16
}

const (
	// longestUnary is how many times their usual size numbers have at most; others are written in full.
	longestUnary = 10
	// remembered is of how many numbers the usual size is at most, and largest what counts of a number.
	remembered, largest = 24, 1 << 10
)

func (g *golomb) code(s *stream, v uint32) (same uint32) {
	low := 0
	for uint32(g.n)<<low < uint32(g.sum) {
		low++
	}
	if high := s.unary(v>>low, longestUnary); high < longestUnary {
		same = high<<low | s.bits(v, low)
	} else {
		same = s.number(v)
	}
	g.sum, g.n = g.sum+uint16(min(same, largest)), g.n+1
	if g.n >= remembered {
		g.sum, g.n = g.sum/2, g.n/2
	}
	return same
}

// ranks are symbols, the usual ones first.
type ranks [8]uint8

// find is the place of a symbol, 8 if it is none of them.
func (r *ranks) find(symbol uint8) uint32 {
	for i, other := range r {
		if other == symbol {
			return uint32(i)
		}
	}
	return uint32(len(r))
}

// use has the symbol of a place come earlier from now on.
func (r *ranks) use(place uint32) {
	if place > 0 {
		r[place-1], r[place] = r[place], r[place-1]
	}
}
