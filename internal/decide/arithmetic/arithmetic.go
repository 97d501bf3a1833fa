// Package arithmetic is integer and rounding arithmetic that either saturates
// or, to equal upstream, behaves as Go does on amd64.
package arithmetic

import (
	"math"
	"math/bits"
	"time"
)

// Mode says how results that do not fit are handled.
type Mode bool

// The modes.
const (
	// Wrap lets integers wrap; a float that does not fit becomes the smallest
	// integer.
	Wrap Mode = false
	// Saturate yields the nearest integer that fits.
	Saturate Mode = true
)

// Add returns x+y.
func (m Mode) Add(x, y int64) int64 {
	sum := x + y
	if m == Wrap || (sum > x) == (y > 0) {
		return sum
	}
	return limit64(y)
}

// MulDiv returns x*y/z for y, z > 0.
func (m Mode) MulDiv(x, y, z int64) int64 {
	if m == Wrap {
		return x * y / z
	}
	hi, lo := bits.Mul64(magnitude(x), uint64(y))
	if hi >= uint64(z) {
		return limit64(x)
	}
	q, _ := bits.Div64(hi, lo, uint64(z))
	if q > math.MaxInt64 {
		return limit64(x)
	}
	if x < 0 {
		return -int64(q)
	}
	return int64(q)
}

// farSeconds is the largest distance from 1970 of times that Nanos distinguishes: about from 1824 to 2115.
const farSeconds = 4_600_000_000

// Nanos returns a time in nanoseconds since 1970. Comparing such numbers is much cheaper than comparing times, and
// their difference never overflows. Times that are too far away for that, such as the zero time, become equal.
func Nanos(t time.Time) int64 {
	return max(-farSeconds, min(farSeconds, t.Unix()))*int64(time.Second) + int64(t.Nanosecond())
}

// ToInt32 narrows an integer.
func (m Mode) ToInt32(x int64) int32 {
	if m == Saturate {
		return int32(max(math.MinInt32, min(math.MaxInt32, x)))
	}
	return int32(x) //gosec:disable G115 -- wraps as upstream does
}

// Ceil32 rounds up to an int32.
func (m Mode) Ceil32(x float64) int32 { return m.Trunc32(math.Ceil(x)) }

// Trunc32 truncates. NaN and numbers that are too small become the smallest integer.
func (m Mode) Trunc32(x float64) int32 {
	x = math.Trunc(x)
	if x >= math.MinInt32 && x <= math.MaxInt32 {
		return int32(x)
	}
	if m == Saturate && x > 0 {
		return math.MaxInt32
	}
	return math.MinInt32
}

// Ceil64 rounds up to an int64.
func (m Mode) Ceil64(x float64) int64 {
	x = math.Ceil(x)
	// 2^63 is the first float64 above the range.
	if x >= math.MinInt64 && x < math.MaxInt64 {
		return int64(x)
	}
	if m == Saturate && x > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func limit64(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
