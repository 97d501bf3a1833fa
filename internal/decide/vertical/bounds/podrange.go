package bounds

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// field is one of the amounts of a recommendation.
type field func(*vertical.Recommendation) *vertical.Amounts

// fields has the fields that are fitted to a LimitRange of pods, each independently.
var fields = [...]field{
	func(r *vertical.Recommendation) *vertical.Amounts { return &r.Upper },
	func(r *vertical.Recommendation) *vertical.Amounts { return &r.Target },
	func(r *vertical.Recommendation) *vertical.Amounts { return &r.Lower },
}

// podFit fits the containers of a pod together to a LimitRange of pods.
type podFit struct {
	recs       []vertical.Recommendation
	containers []Container
	policies   []vertical.ContainerPolicy
	ranges     Ranges
}

func fitPod(
	recs []vertical.Recommendation, containers []Container, policies []vertical.ContainerPolicy, ranges Ranges,
	d divergence.Set,
) []vertical.Recommendation {
	fit := podFit{recs, containers, policies, ranges}
	upstream := !d.Has(divergence.LimitRangeOrder)
	if upstream {
		fit.insertRequests()
	} else {
		fit.includeOthers()
	}
	for _, of := range fields {
		for r := range vertical.Resource(vertical.Resources) {
			if upstream {
				fit.asUpstream(r, of)
			} else {
				fit.inOrder(r, of)
			}
		}
	}
	if !upstream {
		keepOrder(fit.recs)
	}
	return fit.recs
}

// keepOrder widens the bounds to the target: each was fitted independently, with other shares. With a target outside
// its bounds the updater would replace the pod again and again.
func keepOrder(recs []vertical.Recommendation) {
	for i := range recs {
		rec := &recs[i]
		for r := range vertical.Resource(vertical.Resources) {
			target, has := rec.Target.Get(r)
			if !has {
				continue
			}
			if lower, has := rec.Lower.Get(r); has {
				rec.Lower = rec.Lower.With(r, min(lower, target))
			}
			if upper, has := rec.Upper.Get(r); has {
				rec.Upper = rec.Upper.With(r, max(upper, target))
			}
		}
	}
}

// recommended returns the container's recommendation, or nil.
func (f podFit) recommended(container string) *vertical.Recommendation {
	i := slices.IndexFunc(f.recs, func(r vertical.Recommendation) bool { return r.Container == container })
	if i < 0 {
		return nil
	}
	return &f.recs[i]
}

// part is one container's share of a pod.
type part struct {
	// amounts points to the field with the share; nil for a container that does not change.
	amounts *vertical.Amounts
	request vertical.Amount
	limit   vertical.Amount
	// inProportion says that the limit follows the request, rounded that it may be
	// cut to whole units.
	inProportion, rounded bool
}

// inOrder scales recommendations so that all requests together and all limits together are within the range, if
// possible.
func (f podFit) inOrder(r vertical.Resource, of field) {
	least, _ := f.ranges.Pod.Min.Get(r)
	most, _ := f.ranges.Pod.Max.Get(r)
	sums := f.sum(r, of)
	if sums.requests < least {
		// A limit is not below its request, so it need not be checked.
		f.scale(r, of, scaling{to: left(least, sums.fixed), from: sums.scaled, up: true})
		sums = f.sum(r, of)
	}
	if most == 0 {
		return
	}
	if sums.limits > most {
		f.scale(r, of, scaling{to: left(most, sums.fixedLimits), from: sums.roundedLimits, limited: true})
		sums = f.sum(r, of)
	}
	if sums.requests > most {
		f.scale(r, of, scaling{to: left(most, sums.fixed), from: sums.scaled})
	}
}

// left returns the remainder of all; 0 if there is none.
func left(all, taken vertical.Amount) vertical.Amount { return max(0, all-taken) }

// scaling says how the changeable parts are scaled.
type scaling struct {
	to, from vertical.Amount
	// up rounds up, to reach a minimum.
	up bool
	// limited scales only parts whose limits follow.
	limited bool
}

func (f podFit) scale(r vertical.Resource, of field, s scaling) {
	if s.to == 0 || s.from == 0 {
		return
	}
	for _, p := range f.parts(r, of) {
		if p.amounts == nil || s.limited && !p.inProportion {
			continue
		}
		amount := Scale(p.request, s.to, s.from)
		if s.up && Scale(amount, s.from, s.to) < p.request {
			amount = add(amount, 1)
		}
		*p.amounts = p.amounts.With(r, amount)
	}
}

// sums has the totals of the parts of a pod.
type sums struct {
	// requests is the total, fixed that of the parts that do not change, scaled that of the others.
	requests, fixed, scaled vertical.Amount
	// limits is the total, fixedLimits that of limits that do not change. roundedLimits is that of the others, rounded up,
	// so that scaling by it does not exceed the maximum.
	limits, fixedLimits, roundedLimits vertical.Amount
}

func (f podFit) sum(r vertical.Resource, of field) sums {
	var s sums
	for _, p := range f.parts(r, of) {
		s.requests, s.limits = add(s.requests, p.request), add(s.limits, p.limit)
		if p.amounts == nil {
			s.fixed = add(s.fixed, p.request)
		} else {
			s.scaled = add(s.scaled, p.request)
		}
		switch {
		case !p.inProportion:
			s.fixedLimits = add(s.fixedLimits, p.limit)
		case p.rounded:
			s.roundedLimits = add(s.roundedLimits, add(p.limit, 1))
		default:
			s.roundedLimits = add(s.roundedLimits, p.limit)
		}
	}
	return s
}

func (f podFit) parts(r vertical.Resource, of field) []part {
	parts := make([]part, 0, len(f.containers))
	for _, c := range f.containers {
		has := Proportion{Requests: c.Requests, Limits: c.Limits, Defaults: f.ranges.Pod.Default}
		limit, request := has.Ratio(r)
		fixed := part{request: request, limit: limit}
		rec := f.recommended(c.Name)
		if rec == nil {
			parts = append(parts, fixed)
			continue
		}
		amount, recommended := of(rec).Get(r)
		if !recommended {
			parts = append(parts, fixed)
			continue
		}
		p := part{amounts: of(rec), request: amount, limit: limit}
		if f.follows(c, r) {
			p.limit, _ = has.Limit(r, *p.amounts)
			// The request cannot be computed from a truncated limit.
			p.inProportion, p.rounded = true, request != 0 && Scale(p.limit, request, limit) != amount
		}
		parts = append(parts, p)
	}
	return parts
}

// follows reports whether the container's limit of r keeps its proportion to the
// request.
func (f podFit) follows(c Container, r vertical.Resource) bool {
	limit, _ := Proportion{Requests: c.Requests, Limits: c.Limits, Defaults: f.ranges.Pod.Default}.Ratio(r)
	return limit != 0 && vertical.PolicyOf(f.policies, c.Name).Values == vertical.RequestsAndLimits
}

// includeOthers recommends their requests for containers without a recommendation if their limits alone use up the
// LimitRange: unless they are scaled too, as upstream always does, no pod can start.
func (f *podFit) includeOthers() {
	target := func(rec *vertical.Recommendation) *vertical.Amounts { return &rec.Target }
	for r := range vertical.Resource(vertical.Resources) {
		most, _ := f.ranges.Pod.Max.Get(r)
		sums := f.sum(r, target)
		if most == 0 || sums.limits <= most || sums.fixedLimits < most {
			continue
		}
		for _, c := range f.containers {
			if f.follows(c, r) {
				f.include(c, r)
			}
		}
	}
}

// include recommends a container's request, unless it has a recommendation.
func (f *podFit) include(c Container, r vertical.Resource) {
	request, has := c.Requests.Get(r)
	if !has {
		return
	}
	rec := f.recommended(c.Name)
	if rec == nil {
		f.recs = append(f.recs, vertical.Recommendation{Container: c.Name})
		rec = &f.recs[len(f.recs)-1]
	}
	if _, recommended := rec.Target.Get(r); recommended {
		return
	}
	for _, of := range fields {
		*of(rec) = of(rec).With(r, request).In(r, c.Requests.Format(r))
	}
}

func add(a, b vertical.Amount) vertical.Amount {
	return vertical.Amount(arithmetic.Saturate.Add(int64(a), int64(b)))
}
