package observe

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// ModeOf returns the arithmetic for numbers that overflow.
func ModeOf(set divergence.Set) arithmetic.Mode {
	return arithmetic.Mode(set.Has(divergence.Saturate))
}

// Milli returns the quantity in milli-units, rounded up. Quantity.MilliValue, which upstream uses, does not report an
// overflow.
func Milli(q *resource.Quantity, mode arithmetic.Mode) int64 {
	if mode == arithmetic.Wrap {
		return q.MilliValue()
	}
	return quantity.Milli(q)
}
