package bounds

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// containerFit fits a recommendation to a container, within a LimitRange of containers and the object's policy.
type containerFit struct {
	Container
	policy vertical.ContainerPolicy
	limits Range
	// limitsStay is set if limits do not follow requests: then their bounds do not apply to requests. Upstream keeps them
	// in proportion even then.
	limitsStay bool
}

// fit returns the targets that it changed.
func (f *containerFit) fit(rec *vertical.Recommendation) []Cap {
	var caps []Cap
	rec.Target, caps = f.amounts(rec.Target)
	rec.Lower, _ = f.amounts(rec.Lower)
	rec.Upper, _ = f.amounts(rec.Upper)
	return caps
}

func (f *containerFit) amounts(amounts vertical.Amounts) (vertical.Amounts, []Cap) {
	// The API server compares with the LimitRange, not with a policy.
	amounts, byRange := within(amounts, f.least(), f.most().RoundedDown())
	caps := byRange.caps(f.Name, amounts, ToLimitRangeMin, ToLimitRangeMax)
	amounts, byPolicy := within(amounts, f.policy.MinAllowed, f.policy.MaxAllowed)
	caps = append(caps, byPolicy.caps(f.Name, amounts, ToMinAllowed, ToMaxAllowed)...)
	if f.policy.Values != vertical.RequestsOnly {
		return amounts, caps
	}
	own := f.Limits
	if f.limitsStay {
		own = or(own, f.limits.Default)
	}
	for r := range vertical.Resource(vertical.Resources) {
		amount, has := amounts.Get(r)
		limit, limited := own.AtMost(r)
		if has && limited && amount > limit {
			amounts = amounts.With(r, limit).In(r, own.Format(r))
			caps = append(caps, Cap{Container: f.Name, Resource: r, Action: ToLimit, To: limit})
		}
	}
	amounts, byRatio := within(amounts, f.limits.leastOfRatio(own), vertical.Amounts{})
	return amounts, append(caps, byRatio.caps(f.Name, amounts, ToLimitRangeRatio, ToLimitRangeRatio)...)
}

// most returns the largest requests whose limits are within the range.
func (f *containerFit) most() vertical.Amounts { return f.bound(f.limits.Max) }

// least returns the smallest requests that are within the range together with their limits: both must be above the
// minimum.
func (f *containerFit) least() vertical.Amounts {
	return replace(f.bound(f.limits.Min), f.limits.Min, isHigher)
}

func (f *containerFit) bound(limits vertical.Amounts) vertical.Amounts {
	if f.limitsStay {
		return limits
	}
	var requests vertical.Amounts
	of := Proportion{Requests: f.Requests, Limits: f.Limits, Defaults: f.limits.Default}
	for res := range vertical.Resource(vertical.Resources) {
		if _, has := limits.Get(res); has {
			requests = of.Request(res, limits, requests)
		}
	}
	return requests
}
