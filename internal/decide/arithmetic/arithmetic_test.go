package arithmetic_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
)

const (
	wrap     = arithmetic.Wrap
	saturate = arithmetic.Saturate
)

// fit returns the nearest int64, which is the result of saturating arithmetic, computed with numbers that do not
// overflow.
func fit(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

func TestAddAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		if got, want := saturate.Add(x, y), fit(new(big.Int).Add(big.NewInt(x), big.NewInt(y))); got != want {
			t.Errorf("%d + %d saturates at %d, got %d", x, y, want, got)
		}
		if got := wrap.Add(x, y); got != x+y {
			t.Errorf("%d + %d wraps to %d, got %d", x, y, x+y, got)
		}
	})
}

func TestMulDivAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Int64().Draw(t, "x")
		y, z := rapid.Int64Min(1).Draw(t, "y"), rapid.Int64Min(1).Draw(t, "z")
		exact := new(big.Int).Mul(big.NewInt(x), big.NewInt(y))
		if got, want := saturate.MulDiv(x, y, z), fit(exact.Quo(exact, big.NewInt(z))); got != want {
			t.Errorf("%d·%d/%d is %d, got %d", x, y, z, want, got)
		}
		if got := wrap.MulDiv(x, y, z); got != x*y/z {
			t.Errorf("%d·%d/%d wraps to %d, got %d", x, y, z, x*y/z, got)
		}
	})
}

func TestMulDivEdges(t *testing.T) {
	for name, tt := range map[string]struct{ x, y, z, want int64 }{
		"quotient of exactly 2^63":  {math.MinInt64, 1, 1, math.MinInt64},
		"quotient beyond 64 bits":   {math.MaxInt64, math.MaxInt64, 1, math.MaxInt64},
		"negative beyond 64 bits":   {math.MinInt64, math.MaxInt64, 1, math.MinInt64},
		"between 2^63 and 2^64":     {math.MaxInt64, 3, 2, math.MaxInt64},
		"negative, the same":        {-math.MaxInt64, 3, 2, math.MinInt64},
		"a product that overflows":  {math.MaxInt64, 100, math.MaxInt64, 100},
		"negatives cut toward zero": {-7, 1, 2, -3},
	} {
		if got := saturate.MulDiv(tt.x, tt.y, tt.z); got != tt.want {
			t.Errorf("%s: %d·%d/%d is %d, want %d", name, tt.x, tt.y, tt.z, got, tt.want)
		}
	}
}

// TestNarrow checks values that do not fit. In Wrap a float becomes the smallest integer, as amd64's conversion yields,
// and an integer loses its upper bits.
func TestNarrow(t *testing.T) {
	for name, tt := range map[string]struct{ got, want int64 }{
		"integer, saturate high":      {int64(saturate.ToInt32(1 << 40)), math.MaxInt32},
		"integer, saturate low":       {int64(saturate.ToInt32(-1 << 40)), math.MinInt32},
		"integer, fits":               {int64(saturate.ToInt32(-5)), -5},
		"integer, wrap":               {int64(wrap.ToInt32(1<<40 + 7)), 7},
		"ceil":                        {int64(wrap.Ceil32(2.000001)), 3},
		"ceil of a negative":          {int64(saturate.Ceil32(-2.5)), -2},
		"ceil to the largest":         {int64(wrap.Ceil32(math.MaxInt32 - 0.5)), math.MaxInt32},
		"ceil beyond, wrap":           {int64(wrap.Ceil32(math.MaxInt32 + 0.5)), math.MinInt32},
		"ceil beyond, saturate":       {int64(saturate.Ceil32(math.MaxInt32 + 0.5)), math.MaxInt32},
		"trunc":                       {int64(wrap.Trunc32(2.999)), 2},
		"trunc beyond, wrap":          {int64(wrap.Trunc32(1e12)), math.MinInt32},
		"trunc beyond, saturate":      {int64(saturate.Trunc32(1e12)), math.MaxInt32},
		"trunc below, saturate":       {int64(saturate.Trunc32(-1e12)), math.MinInt32},
		"trunc of NaN":                {int64(saturate.Trunc32(math.NaN())), math.MinInt32},
		"trunc of infinity":           {int64(saturate.Trunc32(math.Inf(1))), math.MaxInt32},
		"64 bits, ceil":               {wrap.Ceil64(2.5), 3},
		"64 bits, the first too many": {wrap.Ceil64(math.MaxInt64), math.MinInt64},
		"64 bits, saturate":           {saturate.Ceil64(math.MaxInt64), math.MaxInt64},
		"64 bits, the smallest":       {saturate.Ceil64(math.MinInt64), math.MinInt64},
		"64 bits, too small":          {saturate.Ceil64(-1e30), math.MinInt64},
		"64 bits, infinity, wrap":     {wrap.Ceil64(math.Inf(1)), math.MinInt64},
		"64 bits, NaN":                {saturate.Ceil64(math.NaN()), math.MinInt64},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", name, tt.got, tt.want)
		}
	}
}

// TestNanosAreAsTimes: the numbers have the order of the times, and their distances if both are near.
func TestNanosAreAsTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Time {
			seconds := rapid.OneOf(rapid.Int64Range(-4e9, 4e9), rapid.Int64Range(-1e11, 1e12)).Draw(t, name)
			return time.Unix(seconds, rapid.Int64Range(0, 1e9-1).Draw(t, name+" ns"))
		}
		a, b := draw("a"), draw("b")
		x, y := arithmetic.Nanos(a), arithmetic.Nanos(b)
		isNear := func(t time.Time) bool { return t.Unix() > -4e9 && t.Unix() < 4e9 }
		switch {
		case isNear(a) && isNear(b):
			if x-y != int64(a.Sub(b)) {
				t.Errorf("%v and %v are %v apart, not %v", a, b, time.Duration(x-y), a.Sub(b))
			}
		case isNear(a) || isNear(b):
			if x < y != a.Before(b) || x-y > 0 != (x > y) {
				t.Errorf("%v is before %v, but not %d before %d", a, b, x, y)
			}
		case x-y > 0 != (x > y):
			t.Errorf("the difference of %d and %d overflows", x, y)
		}
	})
	if x := arithmetic.Nanos(time.Time{}); x >= arithmetic.Nanos(time.Unix(-4e9, 0)) {
		t.Errorf("the zero time is %d", x)
	}
}
