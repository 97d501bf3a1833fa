// Package zero decides when a WorkloadAutoscaler scales its target to zero replicas and back, as KEDA does: depending
// on whether metrics that have values without pods are active. Between one replica and the max, metrics propose as an
// HPA's do.
package zero

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// Settings has the object's settings.
type Settings struct {
	// CooldownPeriod is the time without an active metric after which the last replica is removed.
	CooldownPeriod time.Duration
	// InitialCooldownPeriod is the time after the object's creation for which the last replica stays.
	InitialCooldownPeriod time.Duration
}

// Input has the inputs of a decision on zero. Results belong to Specs, index for index.
type Input struct {
	Now       time.Time
	CreatedAt time.Time
	Specs     []source.Spec
	Results   []metric.Result
	Fallbacks []fallback.Active
	// Current is the replica count.
	Current int32
	// IsAboveZero is set if the min is above zero, which counts as activity.
	IsAboveZero bool
	// UnknownSince is that of the last decision's result.
	UnknownSince time.Time
}

// Result says whether the target may have no replicas.
type Result struct {
	// IsPossible is set if the min is zero. Otherwise no other field is set.
	IsPossible bool
	// IsActive is set if a metric is active, and Metric is the index of the first that is.
	IsActive bool
	Metric   int
	// CooldownEnd is when the last replica may be removed if no metric becomes active; zero while one is active, or may
	// be.
	CooldownEnd time.Time
	// UnknownSince is now if a metric cannot be computed while a cooldown runs, for the next decision.
	UnknownSince time.Time
	// IsCooledDown is set once the cooldown has ended.
	IsCooledDown bool
	// IsIdle is set if metrics that have values without pods propose no replicas: none is active, and the cooldown has
	// ended or there are no replicas.
	IsIdle bool
}

// Stays reports whether a target at zero stays there because no metric is active. Recommendations from before the scale
// to zero bring no replica back.
func (r *Result) Stays(current, proposed int32) bool {
	return current == 0 && proposed <= 0 && r.IsPossible && !r.IsActive
}

// Returns reports whether the first replica is added although windows or rates would prevent it, because a metric is
// active.
func (r *Result) Returns(current, desired int32, b *behavior.Behavior) bool {
	return current == 0 && desired == 0 && r.IsActive && (b == nil || b.Up.Select != behavior.SelectDisabled)
}

// Evaluate returns the result. idleSince is the time of the first decision without activity after the last one with
// some. It is zero while there is activity, and does not start while a metric fails. The time in which a metric fails
// does not count for the cooldown: idleSince moves by it. Without history it is now, so that no cooldown is too short.
func Evaluate(s *Settings, in *Input, idleSince *time.Time) (r Result) {
	r.Metric, r.IsActive = active(in)
	isUnknown := in.isUnknown()
	in.pause(idleSince)
	switch {
	case in.IsAboveZero:
		*idleSince = time.Time{}
		return Result{}
	case r.IsActive:
		*idleSince = time.Time{}
	case idleSince.IsZero() && isUnknown:
	case idleSince.IsZero() || idleSince.After(in.Now):
		*idleSince = in.Now
	}
	if isUnknown && !idleSince.IsZero() {
		r.UnknownSince = in.Now
	}
	r.IsPossible = true
	if !idleSince.IsZero() && !in.isSilent() {
		r.CooldownEnd = idleSince.Add(s.CooldownPeriod)
		if initial := in.CreatedAt.Add(s.InitialCooldownPeriod); initial.After(r.CooldownEnd) {
			r.CooldownEnd = initial
		}
		r.IsCooledDown = !in.Now.Before(r.CooldownEnd)
	}
	r.IsIdle = !r.IsActive && (in.Current == 0 || r.IsCooledDown)
	return r
}

// pause moves the start of a cooldown by the time in which it was unknown whether a metric was active.
func (in *Input) pause(idleSince *time.Time) {
	if !idleSince.IsZero() && !in.UnknownSince.IsZero() && in.Now.After(in.UnknownSince) {
		*idleSince = idleSince.Add(in.Now.Sub(in.UnknownSince))
	}
}

// active returns the first active metric: its value is above its activation value, its scaler reports work, or its
// fallback proposes replicas.
func active(in *Input) (index int, found bool) {
	for i := range in.Results {
		if isActive(&in.Specs[i], &in.Results[i]) {
			return i, true
		}
	}
	for _, f := range in.Fallbacks {
		if f.Replicas > 0 && in.Specs[f.Metric].HasValueWithoutPods() {
			return f.Metric, true
		}
	}
	return 0, false
}

// isActive reports whether the metric itself is active. A scaler may report that without a value.
func isActive(spec *source.Spec, r *metric.Result) bool {
	switch {
	case spec.Type.ReportsActivity():
		return r.Activity == metric.Active
	case !spec.HasValueWithoutPods() || r.Failure != nil || r.Pending:
		return false
	default:
		return r.Total > spec.ActivationMilli
	}
}

// isUnknown reports whether a metric may be active: it has failed or its scaler does not report it, and it has no
// active fallback.
func (in *Input) isUnknown() bool {
	for i := range in.Results {
		r := &in.Results[i]
		isComputed := !in.Specs[i].HasValueWithoutPods() || r.Failure == nil && !r.Pending
		if (!isComputed || in.mayBeActive(i)) && !fallback.IsActive(in.Fallbacks, i) {
			return true
		}
	}
	return false
}

// isSilent reports whether a scaler does not report whether it is active, and has no active fallback. Its values alone
// do not permit the removal of the last replica.
func (in *Input) isSilent() bool {
	for i := range in.Results {
		if in.mayBeActive(i) && !fallback.IsActive(in.Fallbacks, i) {
			return true
		}
	}
	return false
}

// mayBeActive reports whether metric i is a scaler that does not report whether it is active.
func (in *Input) mayBeActive(i int) bool {
	return in.Specs[i].Type.ReportsActivity() && in.Results[i].Activity == metric.ActivityUnknown
}

// Inactive returns the largest proposal of the metrics while none is active: those that could be active propose no
// replicas.
func Inactive(specs []source.Spec, results []metric.Result, mayLower bool) (best proposal.Proposal) {
	for i := range results {
		r := &results[i]
		if r.Failure != nil || r.Pending {
			continue
		}
		p := proposal.Proposal{Source: proposal.Metric, Index: i, MayLower: mayLower}
		if !specs[i].HasValueWithoutPods() {
			p.Replicas = r.Replicas
		}
		best = best.Or(p)
	}
	return best
}
