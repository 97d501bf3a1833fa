package estimate

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// round rounds up to a multiple of the flag's unit.
func (p *Policy) round(r vertical.Resource, amount vertical.Amount) vertical.Amount {
	if to := p.Round[r]; to > 1 {
		multiples := math.Ceil(float64(amount) / float64(to))
		amount = vertical.Amount(arithmetic.Saturate.MulDiv(int64(multiples), int64(to), 1))
	}
	if r == vertical.Memory && p.HumanizeMemory {
		amount = humanized(amount)
	}
	return amount
}

// roundToWhole rounds estimates of CPU up to whole ones.
func roundToWhole(estimates *[boundCount]Estimate) {
	const whole = 1000
	for b := range estimates {
		made := &estimates[b]
		made.Rounded = (made.Rounded + whole - 1) / whole * whole
	}
}

// formats are those of upstream's estimates (QuantityFromMemoryAmount in pkg/recommender/model/types.go): memory in
// binary units if it is a whole number of them.
var formats = [vertical.Resources]vertical.Format{vertical.CPU: vertical.DecimalSI, vertical.Memory: vertical.BinarySI}

// humanized returns bytes rounded to two decimals of the largest binary unit that fits, and then rounded up to whole
// bytes.
func humanized(bytes vertical.Amount) vertical.Amount {
	for _, unit := range []vertical.Amount{1 << 40, 1 << 30, 1 << 20, 1 << 10} {
		if bytes >= unit {
			hundredths := vertical.Amount(math.RoundToEven(float64(bytes) * 100 / float64(unit)))
			return (hundredths*unit + 99) / 100
		}
	}
	return bytes
}
