package loadhistory

import (
	"encoding/binary"
	"math"
)

// slotBytes are the bytes of a slot's points.
const slotBytes = 208

// slot has points that follow each other. Each is a byte if only the load has changed, and not by much: the difference
// of its code to the one before. Other bytes say what else has changed before the point.
type slot struct {
	// first is the step of its first point, next the one after its last.
	first, next int64
	// end are the last point's values.
	end  values
	used uint8
	data [slotBytes]byte
}

// The bytes by what they mean as signed numbers. From -mostDifference to mostDifference they are a point: the
// difference of its load's code. Above, they change both counts by up to mostChange. Below are those that say what else
// has changed.
const (
	mostDifference = 100
	mostChange     = 12
	noChange       = mostDifference + 1 + mostChange
	// opLoad is a point, and followed by its load's code. opGap is followed by how many steps have no point, opCounts by
	// both counts, opLimit by the limit, opPerPod by the bits of a float.
	opLoad   = -101
	opGap    = -102
	opCounts = -103
	opLimit  = -104
	opPerPod = -105
)

// values are a point's.
type values struct {
	load          uint16
	limit         Limit
	wanted, ready int32
	perPod        float32
}

// Codes of loads: half a percent apart, from a thousandth of a pod on.
const (
	unknownCode, zeroCode, firstCode = 0, 1, 2
	leastLoad, codeStep              = 1e-3, 0.005
)

func codeOf(load float64) uint16 {
	switch {
	case math.IsNaN(load):
		return unknownCode
	case load < leastLoad/2:
		return zeroCode
	}
	return uint16(firstCode + math.Round(max(0, min(math.MaxUint16-firstCode, math.Log(load/leastLoad)/codeStep))))
}

func loadOf(code uint16) float64 {
	switch code {
	case unknownCode:
		return math.NaN()
	case zeroCode:
		return 0
	}
	return leastLoad * math.Exp(codeStep*float64(code-firstCode))
}

func (v *values) point() Point {
	return Point{Load: loadOf(v.load), PerPodMilli: v.perPod, Wanted: v.wanted, Ready: v.ready, Limit: v.limit}
}

// append stores a point, unless there is no room. The step is not before next.
func (s *slot) append(step int64, v values) bool {
	var room [40]byte
	b := room[:0]
	if gap := step - s.next; gap > 0 {
		b = binary.AppendUvarint(append(b, op(opGap)), uint64(gap))
	}
	b = appendCounts(b, &s.end, &v)
	if v.limit != s.end.limit {
		b = append(b, op(opLimit), byte(v.limit))
	}
	if isOther(v.perPod, s.end.perPod) {
		b = binary.LittleEndian.AppendUint32(append(b, op(opPerPod)), math.Float32bits(v.perPod))
	} else {
		v.perPod = s.end.perPod
	}
	if d := int(v.load) - int(s.end.load); d >= -mostDifference && d <= mostDifference {
		b = append(b, op(d))
	} else {
		b = binary.LittleEndian.AppendUint16(append(b, op(opLoad)), v.load)
	}
	if int(s.used)+len(b) > slotBytes {
		return false
	}
	s.used += uint8(copy(s.data[s.used:], b))
	s.next, s.end = step+1, v
	return true
}

func op(code int) byte { return byte(int8(code)) }

func appendCounts(b []byte, from, to *values) []byte {
	wanted, ready := int64(to.wanted)-int64(from.wanted), int64(to.ready)-int64(from.ready)
	switch {
	case wanted == 0 && ready == 0:
		return b
	case wanted == ready && wanted >= -mostChange && wanted <= mostChange:
		return append(b, op(noChange+int(wanted)))
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(b, op(opCounts)), uint64(to.wanted)), uint64(to.ready))
}

// isOther reports whether what a pod serves differs by more than what is not worth its bytes.
func isOther(a, b float32) bool { return math.Abs(float64(a-b)) > 0.001*math.Abs(float64(b)) }

// each calls yield with the points, and reports whether it always returned true.
func (s *slot) each(yield func(step int64, v values) bool) bool {
	r := reader{left: s.data[:s.used], step: s.first}
	for r.next() {
		if !yield(r.step-1, r.values) {
			return false
		}
	}
	return true
}

// reader decodes a slot. It trusts nothing: isBroken says that the bytes are none of append's.
type reader struct {
	left []byte
	values
	// step is the one after the last point.
	step     int64
	isBroken bool
}

// longestGap is in steps: what is longer is damage.
const longestGap = 1 << 32

// next decodes up to the next point, and reports whether there is one.
func (r *reader) next() bool {
	for len(r.left) > 0 && !r.isBroken {
		code := int(int8(r.left[0]))
		r.left = r.left[1:]
		switch {
		case code > mostDifference:
			r.change(int32(code - noChange))
		case code >= opLoad:
			r.readLoad(code)
			r.step++
			return !r.isBroken
		default:
			r.readOther(code)
		}
	}
	return false
}

func (r *reader) readOther(code int) {
	switch code {
	case opGap:
		r.step += int64(r.number(longestGap))
	case opCounts:
		r.wanted, r.ready = int32(r.number(math.MaxInt32)), int32(r.number(math.MaxInt32))
	case opLimit:
		r.limit = Limit(r.byte())
		r.isBroken = r.isBroken || r.limit >= limits
	case opPerPod:
		r.readPerPod()
	default:
		r.isBroken = true
	}
}

func (r *reader) change(by int32) {
	r.isBroken = by > mostChange || r.wanted > math.MaxInt32-mostChange || r.ready > math.MaxInt32-mostChange
	r.wanted, r.ready = r.wanted+by, r.ready+by
	r.isBroken = r.isBroken || r.wanted < 0 || r.ready < 0
}

func (r *reader) readLoad(code int) {
	if code == opLoad {
		if r.isBroken = len(r.left) < 2; !r.isBroken {
			r.load, r.left = binary.LittleEndian.Uint16(r.left), r.left[2:]
		}
		return
	}
	code += int(r.load)
	r.isBroken = code < 0 || code > math.MaxUint16
	r.load = uint16(max(0, min(math.MaxUint16, code)))
}

func (r *reader) readPerPod() {
	if r.isBroken = len(r.left) < 4; r.isBroken {
		return
	}
	r.perPod, r.left = math.Float32frombits(binary.LittleEndian.Uint32(r.left)), r.left[4:]
	r.isBroken = !(r.perPod >= 0 && r.perPod <= math.MaxFloat32)
}

func (r *reader) byte() (b byte) {
	if r.isBroken = r.isBroken || len(r.left) == 0; r.isBroken {
		return 0
	}
	b, r.left = r.left[0], r.left[1:]
	return b
}

func (r *reader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.left)
	if r.isBroken = r.isBroken || n <= 0 || v > most; r.isBroken {
		return 0
	}
	r.left = r.left[n:]
	return v
}
