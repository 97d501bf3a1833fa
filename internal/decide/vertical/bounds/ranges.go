package bounds

import "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Ranges is what the LimitRanges of a namespace allow together.
type Ranges struct {
	Container, Pod Range
	// HasPod says that there is a LimitRange of pods at all.
	HasPod bool
}

// Range is what LimitRanges of one type allow. An amount of 0 is no bound.
type Range struct {
	// Min is the least request, Max the largest limit.
	Min, Max vertical.Amounts
	// Default is the limit of a container without one.
	Default vertical.Amounts
}

// And is what r and next allow together: the higher minimum, the lower maximum,
// and the last default of all.
func (r Range) And(next Range) Range {
	r.Min = pick(r.Min, next.Min, func(a, b vertical.Amount) vertical.Amount { return max(a, b) })
	r.Max = pick(r.Max, next.Max, func(a, b vertical.Amount) vertical.Amount { return min(a, b) })
	if !next.Default.IsEmpty() {
		r.Default = next.Default
	}
	return r
}

// pick chooses where both have an amount, and takes the one that is there otherwise.
func pick(a, b vertical.Amounts, choose func(a, b vertical.Amount) vertical.Amount) vertical.Amounts {
	for r := range vertical.Resource(vertical.Resources) {
		amount, has := b.Get(r)
		if old, had := a.Get(r); has && had {
			amount = choose(old, amount)
		}
		if has {
			a = a.With(r, amount)
		}
	}
	return a
}

// most is the largest requests whose proportional limits are within the range.
func (r Range) most(c Container) vertical.Amounts { return r.bound(c, r.Max) }

// least is the smallest requests of which they and their proportional limits are
// within the range: both must be above the minimum.
func (r Range) least(c Container) vertical.Amounts {
	return pick(r.bound(c, r.Min), r.Min, func(a, b vertical.Amount) vertical.Amount { return max(a, b) })
}

func (r Range) bound(c Container, limits vertical.Amounts) vertical.Amounts {
	var requests vertical.Amounts
	of := proportion{c.Requests, c.Limits, r.Default}
	for res := range vertical.Resource(vertical.Resources) {
		if limit, has := limits.Get(res); has {
			requests = requests.With(res, of.request(res, limit))
		}
	}
	return requests
}
