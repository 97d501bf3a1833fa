// Package statusreport has a decision as the API shows it: conditions, events and status
// fields.
package statusreport

import (
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// Report is a decision as status, events and logs show it, once the outcome of the scale
// write is known.
type Report struct {
	// Conditions are set in this order; conditions of other types stay.
	Conditions []condition.Condition
	Events     []Event
	// Counts is set if the replica counts and current metrics of status are updated, too; otherwise only the conditions
	// are.
	Counts bool
	// CurrentReplicas and DesiredReplicas are status's. DesiredReplicas is nil
	// where status keeps the one it has.
	CurrentReplicas int32
	DesiredReplicas *int32
	// ShowMetrics is set if status shows one entry for each of Decision.Metrics.
	ShowMetrics bool
	// Rescaled is set if the scale was written.
	Rescaled bool
	// Reason is why the count changes; empty when it does not.
	Reason string
	// Error is the error of the reconciliation; empty when there is none.
	Error string
}

// usually is how many conditions a decision has.
const usually = 4

// Event is an event on the object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Set sets a condition, over an earlier one of its type; its place is where it was first set.
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

// Show sets a condition that is there only while it is True, and for the one time that it turns False.
func (r *Report) Show(kind string, isTrue, isShown bool, reason, message string) {
	if isTrue || isShown {
		r.Set(kind, isTrue, reason, message)
	}
}

// Rename puts another kind in place of the HPA in what is reported.
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

// showConflict adds an event once, and a condition as long as the conflict lasts.
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
