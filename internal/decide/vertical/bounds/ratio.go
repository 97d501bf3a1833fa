package bounds

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// leastOfRatio returns the smallest requests that respect the largest ratio of limit to request, given limits that do
// not change. The LimitRanger admits a container if limit/request*1000 <= ratio, in floats, with the ratio in
// thousandths (plugin/pkg/admission/limitranger/admission.go, limitRequestRatioConstraint).
func (r Range) leastOfRatio(limits vertical.Amounts) vertical.Amounts {
	var requests vertical.Amounts
	for res := range vertical.Resource(vertical.Resources) {
		limit, limited := limits.Get(res)
		ratio, bounded := r.MaxRatioMilli.Get(res)
		if limited && bounded && ratio > 0 {
			requests = requests.With(res, requestOfRatio(limit, ratio)).In(res, limits.Format(res))
		}
	}
	return requests
}

// requestOfRatio returns the smallest request for a limit and a ratio in thousandths.
func requestOfRatio(limit, ratioMilli vertical.Amount) vertical.Amount {
	request := Scale(limit, 1000, ratioMilli)
	if request < math.MaxInt64 && exceedsRatio(request, limit, ratioMilli) {
		request++
	}
	return request
}

// exceedsRatio compares as the LimitRanger does: rounded; without a request every ratio is exceeded.
func exceedsRatio(request, limit, ratioMilli vertical.Amount) bool {
	return float64(limit)/float64(request)*1000 > float64(ratioMilli)
}

// podRatio compares a LimitRange of pods with what the containers would have.
type podRatio struct {
	recs     []vertical.Recommendation
	pod      Pod
	policies []vertical.ContainerPolicy
	ranges   Ranges
}

// keep removes the recommendations of a resource if the pod's limits together would exceed the ratio to its requests:
// the requests of its template are within the ratio.
func (p podRatio) keep() {
	for r := range vertical.Resource(vertical.Resources) {
		ratio, bounded := p.ranges.Pod.MaxRatioMilli.Get(r)
		if !bounded || ratio <= 0 {
			continue
		}
		var requests, limits vertical.Amount
		for i := range p.pod.Containers {
			request, limit := p.after(&p.pod.Containers[i], r)
			requests, limits = add(requests, request), add(limits, limit)
		}
		if limits == 0 || !exceedsRatio(requests, limits, ratio) {
			continue
		}
		for i := range p.recs {
			rec := &p.recs[i]
			rec.Target, rec.Lower, rec.Upper = rec.Target.Without(r), rec.Lower.Without(r), rec.Upper.Without(r)
		}
	}
}

// after returns the request and the limit that a container would have.
func (p podRatio) after(c *Container, r vertical.Resource) (request, limit vertical.Amount) {
	request, _ = c.Requests.Get(r)
	limit, _ = c.Limits.Get(r)
	rec, found := vertical.RecommendationOf(p.recs, c.Name)
	if !found {
		return request, limit
	}
	target, recommended := rec.Target.Get(r)
	if !recommended {
		return request, limit
	}
	if vertical.PolicyOf(p.policies, c.Name).Values != vertical.RequestsOnly {
		limit, _ = Proportion{Requests: c.Requests, Limits: c.Limits, Defaults: p.ranges.Container.Default}.Limit(r,
			rec.Target)
	}
	return target, limit
}
