package observe

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// ModeOf returns the arithmetic for numbers that overflow.
func ModeOf(set divergence.Set) arithmetic.Mode {
	return arithmetic.Mode(set.Has(divergence.Saturate))
}

// exactBelow is a bound in milli-units under which Quantity.MilliValue is certain to be exact, whatever the rounding
// error of a float64 in the estimate.
const exactBelow = 9e18

var (
	largest  = resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
	smallest = resource.NewMilliQuantity(math.MinInt64, resource.DecimalSI)
)

// Milli returns the quantity in milli-units, rounded up. Quantity.MilliValue, which upstream uses, does not report an
// overflow: 1E reads as 0, the equal 1000000000000000000000m as another number again.
func Milli(q *resource.Quantity, mode arithmetic.Mode) int64 {
	if mode == arithmetic.Wrap || math.Abs(q.AsApproximateFloat64()*1000) < exactBelow {
		return q.MilliValue()
	}
	if !quantity.IsBounded(q) {
		// To compare 1e999999999 is to compute it.
		if q.Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	// A comparison may change the quantity's internals, and this one may be in a shared cache.
	c := q.DeepCopy()
	switch {
	case c.Cmp(*largest) >= 0:
		return math.MaxInt64
	case c.Cmp(*smallest) <= 0:
		return math.MinInt64
	default:
		return c.MilliValue()
	}
}
