package bounds

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// insertRequests adds a recommendation for each container without one: its requests.
func (f *podFit) insertRequests() {
	recs := f.recs
	for _, c := range f.containers {
		if f.recommended(c.Name) == nil && !c.Requests.IsEmpty() {
			recs = append(recs, vertical.Recommendation{Container: c.Name, Target: c.Requests})
		}
	}
	f.recs = recs
}

// asUpstream scales as upstream does: all containers, those without a recommendation too, by one factor computed from
// the limits, with memory rounded down, which turns 0 into -1. Where upstream panics, the container keeps its amounts.
func (f podFit) asUpstream(r vertical.Resource, of field) {
	least, _ := f.ranges.Pod.Min.Get(r)
	most, _ := f.ranges.Pod.Max.Get(r)
	requests, limits := f.sumAsUpstream(r, of)
	tooLittle, tooMuch := least > limits, most != 0 && most < limits
	switch {
	case limits == 0:
	case least > requests:
		f.scaleAsUpstream(r, of, scaling{to: least, from: requests, up: r == vertical.CPU})
	case tooMuch:
		f.scaleAsUpstream(r, of, scaling{to: most, from: limits, limited: true})
	case tooLittle:
		f.scaleAsUpstream(r, of, scaling{to: least, from: limits, limited: true})
	}
}

func (f podFit) sumAsUpstream(r vertical.Resource, of field) (requests, limits vertical.Amount) {
	for _, c := range f.containers {
		recommended := c.Requests
		if rec := f.recommended(c.Name); rec != nil {
			recommended = *of(rec)
		}
		limit, _ := Proportion{Requests: c.Requests, Limits: c.Limits, Defaults: f.ranges.Pod.Default}.Limit(r,
			recommended)
		request, _ := recommended.Get(r)
		requests, limits = add(requests, request), add(limits, limit)
	}
	return requests, limits
}

func (f podFit) scaleAsUpstream(r vertical.Resource, of field, s scaling) {
	for _, c := range f.containers {
		rec := f.recommended(c.Name)
		if rec == nil {
			continue
		}
		amount, _ := of(rec).Get(r)
		scaled := Scale(amount, s.to, s.from)
		if s.up && Scale(scaled, s.from, s.to) < amount {
			scaled = add(scaled, 1)
		}
		if s.limited && r == vertical.Memory && scaled == 0 {
			scaled = -1
		}
		*of(rec) = of(rec).With(r, scaled)
	}
}
