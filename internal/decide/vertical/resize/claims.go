package resize

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Claims has the shares of a namespace's quotas that the changes of a pass use. The quotas' statuses include them only
// once the API server has seen each new pod.
type Claims struct{ taken vertical.Resized }

// Growth returns the additional requests and limits of the pod with these targets. Decreases do not count: they free
// resources only once the change is done.
func Growth(pod *vertical.Pod, targets []Target) vertical.Resized {
	return growth(pod, apply(pod, targets))
}

func growth(pod *vertical.Pod, after []vertical.Resized) vertical.Resized {
	from, to := total(pod, apply(pod, nil)), total(pod, after)
	return vertical.Resized{Requests: increase(from.Requests, to.Requests), Limits: increase(from.Limits, to.Limits)}
}

func increase(from, to vertical.Amounts) vertical.Amounts {
	var growth vertical.Amounts
	for r := range vertical.Resource(vertical.Resources) {
		before, _ := from.Get(r)
		if after, _ := to.Get(r); after > before {
			growth = growth.With(r, after-before)
		}
	}
	return growth
}

// Take claims the growth, if each quota has room for it beside what is claimed already.
func (c *Claims) Take(growth vertical.Resized, quotas []Quota) bool {
	all := vertical.Resized{Requests: c.taken.Requests.Plus(growth.Requests), Limits: c.taken.Limits.Plus(growth.Limits)}
	for i := range quotas {
		if exceeds(growth.Requests, all.Requests, quotas[i].Requests) ||
			exceeds(growth.Limits, all.Limits, quotas[i].Limits) {
			return false
		}
	}
	c.taken = all
	return true
}

// Release returns the claim of a change that was not done.
func (c *Claims) Release(growth vertical.Resized) {
	c.taken.Requests = increase(growth.Requests, c.taken.Requests)
	c.taken.Limits = increase(growth.Limits, c.taken.Limits)
}

// exceeds reports whether a growing resource does not fit with the rest.
func exceeds(growth, all, left vertical.Amounts) bool {
	for r := range vertical.Resource(vertical.Resources) {
		asked, _ := growth.Get(r)
		sum, _ := all.Get(r)
		if room, limited := left.Get(r); limited && asked > 0 && sum > room {
			return true
		}
	}
	return false
}
