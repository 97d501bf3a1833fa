package bounds

import "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Ranges has the bounds of all LimitRanges of a namespace together.
type Ranges struct {
	Container, Pod Range
	// HasPod is set if there is a LimitRange of pods.
	HasPod bool
}

// Range has the bounds of LimitRanges of one type. An amount of 0 means no bound.
type Range struct {
	// Min is the least request, Max the largest limit.
	Min, Max vertical.Amounts
	// Default is the limit of a container without one.
	Default vertical.Amounts
	// MaxRatioMilli is the largest ratio of a limit to its request, in thousandths.
	MaxRatioMilli vertical.Amounts
}

// And returns the intersection of r and next: the higher minimum, the lower maximum, and the last default of all.
func (r Range) And(next Range) Range {
	r.Min = replace(r.Min, next.Min, isHigher)
	r.Max = replace(r.Max, next.Max, isLower)
	r.MaxRatioMilli = replace(r.MaxRatioMilli, next.MaxRatioMilli, isLower)
	if !next.Default.IsEmpty() {
		r.Default = next.Default
	}
	return r
}

func isHigher(old, next vertical.Amount) bool { return next > old }

func isLower(old, next vertical.Amount) bool { return next < old }

// replace returns old with the amounts of next that old lacks or that are better.
func replace(old, next vertical.Amounts, isBetter func(old, next vertical.Amount) bool) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		amount, has := next.Get(r)
		if before, had := old.Get(r); has && (!had || isBetter(before, amount)) {
			old = old.With(r, amount).In(r, next.Format(r))
		}
	}
	return old
}
