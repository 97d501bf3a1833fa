package observe

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// ModeOf is how numbers that do not fit are treated.
func ModeOf(set divergence.Set) arithmetic.Mode {
	return arithmetic.Mode(set.Has(divergence.Saturate))
}

// Milli is the quantity in milli-units, rounded up. Quantity.MilliValue, which
// upstream uses, does not say when the result does not fit.
func Milli(q *resource.Quantity, mode arithmetic.Mode) int64 {
	if mode == arithmetic.Wrap {
		return q.MilliValue()
	}
	return quantity.Milli(q)
}
