package vertical

import "github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"

// MaxAmount is upstream's largest recommendation.
const MaxAmount Amount = 1e14

// AmountOf truncates. Negative numbers and NaN become 0, larger ones MaxAmount.
func AmountOf(x float64) Amount {
	switch {
	case x > float64(MaxAmount):
		return MaxAmount
	case x > 0:
		return Amount(x)
	}
	return 0
}

// Scale returns the amount times a factor.
func (a Amount) Scale(factor float64) Amount { return AmountOf(float64(a) * factor) }

// Plus returns the sum of a and b, of each resource that either has.
func (a Amounts) Plus(b Amounts) Amounts {
	for r := range Resource(Resources) {
		if y, ok := b.Get(r); ok {
			x, _ := a.Get(r)
			isRounded := a.roundedUp[r] || b.roundedUp[r]
			a = a.With(r, Amount(arithmetic.Saturate.Add(int64(x), int64(y))))
			a.roundedUp[r] = isRounded
		}
	}
	return a
}

// Max returns the larger amount of each resource that either has.
func (a Amounts) Max(b Amounts) Amounts {
	for r := range Resource(Resources) {
		x, hasX := a.Get(r)
		if y, ok := b.Get(r); ok && (!hasX || y > x) {
			a = a.With(r, y)
			a.roundedUp[r] = b.roundedUp[r]
		}
	}
	return a
}

// Replace returns a with the amounts that b has.
func (a Amounts) Replace(b Amounts) Amounts {
	for r := range Resource(Resources) {
		if y, ok := b.Get(r); ok {
			a = a.With(r, y)
			a.roundedUp[r] = b.roundedUp[r]
		}
	}
	return a
}
