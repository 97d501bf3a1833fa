// Package horizontal is the horizontal decision: how many replicas a target should have, and why. It is pure: its
// inputs and outputs are values, and the shell around it does everything else.
package horizontal

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// Policy has the settings of the object and of the controller's flags.
type Policy struct {
	Namespace                string
	MinReplicas, MaxReplicas int32
	Metrics                  []source.Spec
	// Behavior is nil for an object without spec.behavior, which upstream treats
	// by rules of its own.
	Behavior *behavior.Behavior
	// Tolerance is the flag's or, if behavior has one, the object's.
	Tolerance metric.Tolerance
	// DownscaleStabilization is the flag's window; it applies without Behavior.
	DownscaleStabilization time.Duration
	// CPUInitializationPeriod and InitialReadinessDelay are the two start-up delays of CPU samples.
	CPUInitializationPeriod, InitialReadinessDelay time.Duration
	// Surge has the settings of the surge window; the zero value means none.
	Surge       surge.Settings
	Divergences divergence.Set
	// Forecast has the settings of the forecast, and ForecastProblem is why other settings are ignored.
	Forecast        forecast.Settings
	ForecastProblem string
	// WorkloadAutoscaler is nil for an HPA.
	WorkloadAutoscaler *WorkloadAutoscaler
}

// Observation is the input about the target and its metrics.
type Observation struct {
	Target Target
	// Trigger is the cause of the decision, which Decide returns with it.
	Trigger trigger.Kind
	// NewerAwaited is set if the kubelets' first samples have not arrived, so that the present values may be older: they
	// do not lower the count.
	NewerAwaited bool
	// ScaledToZero is the status of the object's ScaledToZero condition.
	ScaledToZero bool
	// Conflict is a conflict with a vertical autoscaler.
	Conflict Conflict
	// Shown are the conditions of a WorkloadAutoscaler that are True in its status, and CreatedAt is when it was created.
	Shown     Shown
	CreatedAt time.Time
	// Refusal is why a WorkloadAutoscaler may not write the scale.
	Refusal Refusal
	// StartUp is the time from the creation to the readiness of the target's pods; 0 if unknown.
	StartUp time.Duration
	// Pods are the pods that the scale's selector selects.
	Pods []metric.Pod
	// Readings belong to Policy.Metrics, index for index. They are used only if NeedsReadings returns true.
	Readings []metric.Reading
}

// defersLowering reports whether a lower count is left to a later decision.
func (o *Observation) defersLowering() bool { return o.Trigger == trigger.Event || o.NewerAwaited }

// Conflict is a conflict of the object's Utilization targets with a vertical autoscaler that changes the requests that
// they divide by.
type Conflict struct {
	// Message describes it; empty if there is none.
	Message string
	// Shown is the status of the object's condition about it.
	Shown bool
}

// Shown are the conditions of a WorkloadAutoscaler that are True in its status.
type Shown struct {
	ScheduleActive, FallbackActive bool
	// LimitedByPause is set if ScalingLimited is True because of the mode Paused.
	LimitedByPause bool
}

// Refusal is the reason why a WorkloadAutoscaler may not write the scale in any mode; the zero value means that it may.
type Refusal struct {
	// Reason and Message are those of the condition and the event. Summary is a short form.
	Reason, Message, Summary string
	// IsExpected is set if nobody needs to act: the cause is gone already, or a migration removes it.
	IsExpected bool
}

// Target is the scale of the target.
type Target struct {
	// Error is why the scale could not be read; empty if it could.
	Error                        string
	SpecReplicas, StatusReplicas int32
	Selector                     podselector.Selector
}

// StateVersion is the version of State that this package writes.
const StateVersion = 1

// State is the history of earlier decisions. It is consumed: the state
// passed to Decide must not be used again, because the returned one has
// its buffers. To decide twice from one state, Clone it.
type State struct {
	Version         int                     `json:"version"`
	Recommendations history.Recommendations `json:"recommendations"`
	ScaleUps        history.Changes         `json:"scaleUps,omitempty"`
	ScaleDowns      history.Changes         `json:"scaleDowns,omitempty"`
	// LastScaleUp and LastScaleUpOn exist in states of earlier versions: Decide moves the time to Count, and drops both.
	LastScaleUp   time.Time `json:"lastScaleUp,omitzero"`
	LastScaleUpOn []any     `json:"lastScaleUpOn,omitempty"`
	// Count is the replica count and its last change, by any writer.
	Count history.Count `json:"count,omitzero"`
	// LoweringAt is when the last decision was that could lower the count.
	LoweringAt time.Time `json:"loweringAt,omitzero"`
	// Unreached is an earlier proposal that a rate has not permitted yet; 0 if there is none.
	Unreached int32 `json:"unreached,omitempty"`
	// ScaledToZero is set if the last scale write was to zero, and the count has been zero since. The condition has it
	// too, but the status write after the scale write may be lost.
	ScaledToZero bool `json:"scaledToZero,omitempty"`
	// Ready has the recent numbers of ready pods.
	Ready history.Ready `json:"ready,omitempty"`
	// Surges has the history of surges.
	Surges surge.History `json:"surges,omitzero"`
	// Pending is the decided change that is not settled yet.
	Pending *behavior.Pending `json:"pending,omitempty"`
	// Fallbacks has the failing metrics that have a fallback, and IdleSince is since when nothing has kept the target
	// above zero replicas; for a WorkloadAutoscaler only. UnknownSince is the time of the last decision if a metric failed
	// that might be active.
	Fallbacks    fallback.Failures `json:"fallbacks,omitempty"`
	IdleSince    time.Time         `json:"idleSince,omitzero"`
	UnknownSince time.Time         `json:"unknownSince,omitzero"`
	// Overrides has the changes of the count by other writers.
	Overrides Overrides `json:"overrides,omitzero"`
	// Forecast is the learnt state; nil if the forecast is off.
	Forecast *forecast.State `json:"forecast,omitempty"`

	// work has buffers; it carries no history.
	work *workspace
}

// upgrade converts a state of an earlier version.
func (s *State) upgrade() {
	if !s.LastScaleUp.IsZero() && s.Count.ChangedAt.IsZero() {
		s.Count.ChangedAt, s.Count.EffectiveAt = s.LastScaleUp, s.LastScaleUp
	}
	s.LastScaleUp, s.LastScaleUpOn = time.Time{}, nil
}

// Outcome is the outcome of the scale write.
type Outcome struct {
	// At is when the write ended, and Began when this controller began it; zero if another one wrote.
	At, Began time.Time
	// Error is the API server's error; empty after a successful write. MayBeWritten is set if the write may have succeeded
	// nevertheless.
	Error        string
	MayBeWritten bool
}

// Settle records the outcome of the scale write. A scale event counts only once it is written. Without a pending change
// it does nothing.
func Settle(state State, outcome Outcome) State {
	pending := state.Pending
	state.Pending = nil
	if outcome.MayBeWritten {
		state.Overrides.Forget()
	}
	if pending == nil || outcome.Error != "" {
		return state
	}
	if !outcome.Began.IsZero() {
		state.Overrides.Wrote(outcome.Began, pending.Replicas)
	}
	state.Count.Replicas = pending.Replicas - pending.Change
	state.Count.Change(outcome.At, pending.Replicas)
	state.ScaledToZero = pending.Replicas == 0 && pending.Change < 0
	switch {
	case pending.Longest == 0:
	case pending.Change > 0:
		state.ScaleUps = state.ScaleUps.Add(outcome.At, pending.Change, pending.Longest)
	default:
		state.ScaleDowns = state.ScaleDowns.Add(outcome.At, -pending.Change, pending.Longest)
	}
	return state
}

// Clone returns a copy of the state that shares nothing with it.
func (s *State) Clone() State {
	c := *s
	c.work = nil
	c.Recommendations = s.Recommendations.Clone()
	c.ScaleUps = append(history.Changes(nil), s.ScaleUps...)
	c.ScaleDowns = append(history.Changes(nil), s.ScaleDowns...)
	c.Ready, c.LastScaleUpOn = slices.Clone(s.Ready), slices.Clone(s.LastScaleUpOn)
	c.Fallbacks = slices.Clone(s.Fallbacks)
	c.Forecast = s.Forecast.Clone()
	if s.Pending != nil {
		pending := *s.Pending
		c.Pending = &pending
	}
	return c
}
