package loadhistory

import "math/bits"

// stream writes bits to data, or reads them: each of its methods takes the value to write, and returns the value that
// was written or read. A stream that reads ignores the argument. So the same code encodes and decodes points.
type stream struct {
	data []byte
	// at is the next bit, end is one past the last bit or past the room for bits.
	at, end   int
	isReading bool
	// isBroken is true when there is no more room, or when the input was not written by a stream.
	isBroken bool
}

// bits codes the lowest n bits of v, 32 at most.
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

// unary codes a small number up to most: a bit for each, and one after them if they are fewer than most.
func (s *stream) unary(v, most uint32) (same uint32) {
	for same < most && s.flag(same < v) {
		same++
	}
	return same
}

// number codes any number: its length in bits, and these.
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

// golomb codes numbers that are mostly about as large as those before.
type golomb struct {
	// sum is that of the latest n numbers.
	sum, n uint16
}

const (
	// longestUnary bounds the ratio of a number to the usual size; larger ones are written in full.
	longestUnary = 10
	// remembered bounds the count of numbers in the usual size, and largest what a single number adds to it.
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

// find returns the index of a symbol, 8 if it is missing.
func (r *ranks) find(symbol uint8) uint32 {
	for i, other := range r {
		if other == symbol {
			return uint32(i)
		}
	}
	return uint32(len(r))
}

// use moves a symbol towards the front.
func (r *ranks) use(place uint32) {
	if place > 0 {
		r[place-1], r[place] = r[place], r[place-1]
	}
}
