package bounds

import (
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// MostBeside returns the largest CPU request of a container in a pod with its own resources, given the requests of the
// other containers; the largest integer without a bound.
func MostBeside(c Container, whole vertical.Resized, others vertical.Amount, limitFollows bool) vertical.Amount {
	most := vertical.Amount(math.MaxInt64)
	limit, limited := whole.Limits.AtMost(vertical.CPU)
	if limited {
		most = left(limit, others)
	}
	if request, requested := whole.Requests.AtMost(vertical.CPU); requested {
		most = left(request, others)
	}
	if limited && limitFollows {
		of := Proportion{Requests: c.Requests, Limits: c.Limits}
		if bound, _ := of.Request(vertical.CPU, whole.Limits, vertical.Amounts{}).Get(vertical.CPU); bound != 0 {
			most = min(most, bound)
		}
	}
	return most
}

// resourcesFit fits the containers of a pod to the pod's own resources. The API server requires that the containers'
// requests together do not exceed the pod's, and that no container's limit exceeds the pod's (KEP-2837).
type resourcesFit struct {
	recs     []vertical.Recommendation
	pod      Pod
	policies []vertical.ContainerPolicy
	// defaults are the default limits of containers.
	defaults vertical.Amounts
}

// fit returns the targets that it lowered.
func (f resourcesFit) fit() []Cap {
	before := slices.Clone(f.recs)
	for r := range vertical.Resource(vertical.Resources) {
		for _, of := range fields {
			f.fitLimits(r, of)
			f.fitRequests(r, of)
		}
	}
	caps := Changed(before, f.recs, ToPodResources)
	keepOrder(f.recs)
	return caps
}

// fitLimits lowers requests until the limits in proportion to them are at most the
// pod's.
func (f resourcesFit) fitLimits(r vertical.Resource, at field) {
	if _, limited := f.pod.Resources.Limits.Get(r); !limited {
		return
	}
	for i := range f.recs {
		rec := &f.recs[i]
		c := f.pod.container(rec.Container)
		if vertical.PolicyOf(f.policies, rec.Container).Values == vertical.RequestsOnly {
			continue
		}
		of := Proportion{Requests: c.Requests, Limits: c.Limits, Defaults: f.defaults}
		most := of.Request(r, f.pod.Resources.Limits, vertical.Amounts{})
		*at(rec), _ = within(*at(rec), vertical.Amounts{}, most)
	}
}

// fitRequests scales requests so that their total is at most the pod's, minus the requests of containers without a
// recommendation. If these leave nothing, it removes the recommendations.
func (f resourcesFit) fitRequests(r vertical.Resource, of field) {
	most, bounded := f.pod.Resources.Requests.AtMost(r)
	if !bounded {
		most, bounded = f.pod.Resources.Limits.AtMost(r)
	}
	fixed, _ := f.pod.InitContainers.Sidecars().Requests.Get(r)
	var scaled vertical.Amount
	for i := range f.pod.Containers {
		c := &f.pod.Containers[i]
		request, _ := c.Requests.Get(r)
		if rec, found := vertical.RecommendationOf(f.recs, c.Name); found {
			if amount, recommended := of(rec).Get(r); recommended {
				scaled = add(scaled, amount)
				continue
			}
		}
		fixed = add(fixed, request)
	}
	if !bounded || add(fixed, scaled) <= most {
		return
	}
	for i := range f.recs {
		amounts := of(&f.recs[i])
		amount, recommended := amounts.Get(r)
		switch {
		case !recommended:
		case fixed >= most:
			*amounts = amounts.Without(r)
		default:
			*amounts = amounts.With(r, Scale(amount, most-fixed, scaled))
		}
	}
}
