// Package statusreport translates a decision to the API: conditions, events and status fields.
package statusreport

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// Report is a decision for status, events and logs, after the scale write.
type Report struct {
	// Conditions are set in this order; conditions of other types stay.
	Conditions []condition.Condition
	Events     []Event
	// Counts is set if the replica counts and current metrics of the status are updated too, not only the conditions.
	Counts bool
	// CurrentReplicas and DesiredReplicas are those of the status. DesiredReplicas is nil if the status keeps its own.
	CurrentReplicas int32
	DesiredReplicas *int32
	// ShowMetrics is set if the status gets one entry for each of Decision.Metrics.
	ShowMetrics bool
	// Rescaled is set if the scale was written.
	Rescaled bool
	// Reason is why the count changes; empty when it does not.
	Reason string
	// Error is the error of the reconciliation; empty when there is none.
	Error string
}

// usually is the usual number of conditions.
const usually = 4

// Event is an event on the object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Set sets a condition, in place of an earlier one of its type.
func (r *Report) Set(kind string, isTrue bool, reason, message string) {
	if r.Conditions == nil {
		r.Conditions = make([]condition.Condition, 0, usually)
	}
	r.Conditions, _ = condition.Unsorted.Set(r.Conditions,
		condition.Condition{Type: kind, Status: condition.StatusOf(isTrue), Reason: reason, Message: message})
}

func (r *Report) has(kind string) bool {
	return slices.ContainsFunc(r.Conditions, func(c condition.Condition) bool { return c.Type == kind })
}

// Warn adds a warning.
func (r *Report) Warn(reason, message string) {
	r.Events = append(r.Events, Event{Warning: true, Reason: reason, Message: message})
}

// ReplicasOverridden is the type of the condition about another writer of the replica count, and the reason of the
// event. The condition is absent until it is first True.
const ReplicasOverridden = "ReplicasOverridden"

// setsToo is behind the other writer in the message of ReplicasOverridden.
const setsToo = " sets the replica count of "

// Overridden is the message of ReplicasOverridden.
func Overridden(by, target string) string {
	return by + setsToo + target + " too, so that plimsoll writes it once in a sync period at most; " +
		"leave the replica count to one of the two"
}

// OverriddenByInstallation is the message of ReplicasOverridden about another installation of Plimsoll.
func OverriddenByInstallation(by, target string) string {
	return by + setsToo + target + " too: it is another installation of plimsoll; remove one of the two"
}

// OtherWriter is the other writer in the message of ReplicasOverridden; empty if it is another message.
func OtherWriter(message string) string {
	by, _, isThere := strings.Cut(message, setsToo)
	if !isThere {
		return ""
	}
	return by
}

// Show sets a condition that exists only while it is True, and once when it turns False.
func (r *Report) Show(kind string, isTrue, isShown bool, reason, message string) {
	if isTrue || isShown {
		r.Set(kind, isTrue, reason, message)
	}
}

// Rename replaces HPA by another kind in the texts.
func (r *Report) Rename(kind string) {
	for i := range r.Conditions {
		rename(&r.Conditions[i].Message, kind)
	}
	for i := range r.Events {
		rename(&r.Events[i].Message, kind)
	}
}

func rename(message *string, kind string) {
	if rest, isOne := strings.CutPrefix(*message, "the HPA "); isOne {
		*message = "the " + kind + " " + rest
	}
}

// showConflict adds an event when a conflict starts, and a condition while it lasts.
func (r *Report) showConflict(c horizontal.Conflict) {
	switch {
	case c.Message != "":
		r.Set(conflict.Condition, true, conflict.ReasonUtilization, c.Message)
		if !c.Shown {
			r.Warn(conflict.ReasonUtilization, c.Message)
		}
	case c.Shown:
		r.Set(conflict.Condition, false, conflict.ReasonNone,
			"no vertical autoscaler controls what this object's Utilization targets divide by")
	}
}
