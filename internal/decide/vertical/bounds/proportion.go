package bounds

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// LimitNote says why a limit is not in proportion to its request.
type LimitNote struct {
	Resource vertical.Resource
	Reason   LimitReason
}

// LimitReason is the reason for a limit that is not in proportion.
type LimitReason uint8

// The reasons.
const (
	// InProportion: the limit is in proportion.
	InProportion LimitReason = iota
	// NoLimit: there is neither a limit nor a default.
	NoLimit
	// NoRequest: no request is recommended.
	NoRequest
	// TooLarge: the limit in proportion overflows; it is the largest integer.
	TooLarge
)

var limitReasons = [...]string{
	"", "limit NOT set since originalLimit is nil or 0", "limit NOT set since recommendedRequest is nil or 0",
	"failed to keep limit to request ratio; capping limit to int64",
}

// String returns the note in upstream's notation of a pod's annotation.
func (n LimitNote) String() string { return n.Resource.String() + ": " + limitReasons[n.Reason] }

// ProportionalLimits returns limits with the present ratio to the requests. Without a limit it uses the LimitRange's
// default; without a request it uses the limit, as Kubernetes does. The notes list limits that are not in proportion,
// unless there is no limit at all.
func ProportionalLimits(requests, limits, defaults, recommended vertical.Amounts) (vertical.Amounts, []LimitNote) {
	var proportional vertical.Amounts
	var notes []LimitNote
	for r := range vertical.Resource(vertical.Resources) {
		has := Proportion{requests, limits, defaults}
		limit, reason := has.Limit(r, recommended)
		if reason == InProportion || reason == TooLarge {
			proportional = proportional.With(r, limit).In(r, has.LimitFormat(r, recommended))
		}
		if reason != InProportion {
			notes = append(notes, LimitNote{Resource: r, Reason: reason})
		}
	}
	if proportional.IsEmpty() {
		return vertical.Amounts{}, nil
	}
	return proportional, notes
}

// Proportion has the resources of a container that determine the ratio of limit to request. Defaults apply if it has no
// limits.
type Proportion struct{ Requests, Limits, Defaults vertical.Amounts }

// Ratio returns the limit, or its default, and the request; a limit of 0 means none.
func (p Proportion) Ratio(r vertical.Resource) (limit, request vertical.Amount) {
	limit, _ = p.Limits.Get(r)
	if limit == 0 {
		limit, _ = p.Defaults.Get(r)
	}
	request, _ = p.Requests.Get(r)
	return limit, request
}

// Limit returns the limit in proportion to the recommendation, and why it is not in proportion.
func (p Proportion) Limit(r vertical.Resource, recommended vertical.Amounts) (vertical.Amount, LimitReason) {
	limit, request := p.Ratio(r)
	amount, _ := recommended.Get(r)
	switch {
	case limit == 0:
		return 0, NoLimit
	case amount == 0:
		return 0, NoRequest
	case request == 0 || request == limit:
		return amount, InProportion
	}
	scaled := Scale(amount, limit, request)
	if scaled == math.MaxInt64 {
		return scaled, TooLarge
	}
	return scaled, InProportion
}

// LimitFormat returns the format of the limit: its own if it is scaled, or that of the request if it equals that.
func (p Proportion) LimitFormat(r vertical.Resource, recommended vertical.Amounts) vertical.Format {
	limit, request := p.Ratio(r)
	if request == 0 || request == limit {
		return recommended.Format(r)
	}
	if own, _ := p.Limits.Get(r); own != 0 {
		return p.Limits.Format(r)
	}
	return p.Defaults.Format(r)
}

// Request sets, in requests, the request whose proportional limit is the bound; 0 means none.
func (p Proportion) Request(r vertical.Resource, bounds, requests vertical.Amounts) vertical.Amounts {
	bound, _ := bounds.AtMost(r)
	limit, request := p.Ratio(r)
	switch {
	case limit == 0:
		return requests.With(r, 0)
	case request == 0:
		return requests.With(r, bound).In(r, bounds.Format(r))
	}
	return requests.With(r, Scale(request, bound, limit)).In(r, p.Requests.Format(r))
}

// Scale returns amount*to/from, rounded down to whole units, or the largest integer.
func Scale(amount, to, from vertical.Amount) vertical.Amount {
	scaled := vertical.Amount(arithmetic.Saturate.MulDiv(int64(amount), int64(to), int64(from)))
	if amount < 0 && scaled*from != amount*to {
		return scaled - 1
	}
	return scaled
}
