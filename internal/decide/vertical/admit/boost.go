package admit

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// boost returns the boost of a container with this policy.
func (p Policy) boost(policy vertical.ContainerPolicy) *vertical.Boost {
	if policy.Boost != nil {
		return policy.Boost
	}
	return p.Boost
}

// mostBoosted returns the largest CPU request of container i with its boost: the server's limit, and what the other
// containers leave of the pod's own resources.
func (pod Pod) mostBoosted(i int, p Policy, changes []Change, o Options) vertical.Amount {
	most := vertical.Amount(math.MaxInt64)
	if o.MaxBoostMilli != 0 {
		most = o.MaxBoostMilli
	}
	if !o.Divergences.Has(divergence.PodResources) {
		return most
	}
	others, _ := pod.InitContainers.Sidecars().Requests.Get(vertical.CPU)
	for j := range pod.Containers {
		if j == i {
			continue
		}
		request, changed := changes[j].Requests.Get(vertical.CPU)
		if !changed {
			request, _ = pod.Containers[j].Requests.Get(vertical.CPU)
		}
		others = vertical.Amount(arithmetic.Saturate.Add(int64(others), int64(request)))
	}
	c := &pod.Containers[i]
	limitFollows := vertical.PolicyOf(p.Containers, c.Name).Values != vertical.RequestsOnly
	return min(most, bounds.MostBeside(c.Container, pod.Resources, others, limitFollows))
}

// boost raises the CPU above the recommendation, or, without one, above the request, and at most to this amount.
func (c *Change) boost(of Container, policy vertical.ContainerPolicy, b *vertical.Boost, most vertical.Amount) {
	if b == nil {
		return
	}
	base, _ := c.Requests.Get(vertical.CPU)
	if base == 0 {
		base, _ = of.Requests.Get(vertical.CPU)
	}
	boosted := min(Boosted(base, *b), most)
	c.Boosted = true
	if policy.Values == vertical.RequestsOnly {
		c.Requests = c.Requests.With(vertical.CPU, below(boosted, of.Limits))
		return
	}
	c.Requests = c.Requests.With(vertical.CPU, boosted)
	limits, _ := bounds.ProportionalLimits(of.Requests, of.Limits, vertical.Amounts{},
		vertical.Amounts{}.With(vertical.CPU, boosted))
	if limit, limited := limits.Get(vertical.CPU); limited {
		c.Limits = c.Limits.With(vertical.CPU, limit)
	}
}

// Boosted returns a CPU request with a boost.
func Boosted(base vertical.Amount, b vertical.Boost) vertical.Amount {
	if b.Factor >= 1 {
		// Multiply as floats, as upstream: from 2^53 on the result is rounded.
		product := float64(base) * float64(b.Factor)
		if product >= math.MaxInt64 {
			return math.MaxInt64
		}
		return vertical.Amount(product)
	}
	return vertical.Amount(arithmetic.Saturate.Add(int64(base), int64(b.AddMilli)))
}

// below keeps a boosted request slightly below a limit that stays: with requests equal to its limits, the pod would
// have another quality-of-service class during its start.
func below(boosted vertical.Amount, limits vertical.Amounts) vertical.Amount {
	limit, limited := limits.AtMost(vertical.CPU)
	switch {
	case !limited || boosted <= limit:
		return boosted
	case limit > 1:
		return limit - 1
	}
	return limit
}
