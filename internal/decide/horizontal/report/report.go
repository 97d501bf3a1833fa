// Package report is what a decision says in the words of the API: conditions,
// events, and what status shows.
package report

import "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"

// Report is a decision in the words of the API: what status, events and logs
// say of it once the outcome of the scale write is known.
type Report struct {
	// Conditions are set in this order; conditions of other types stay.
	Conditions []Condition
	Events     []Event
	// Counts says that the replica counts and current metrics of status are to be
	// renewed; otherwise only the conditions are.
	Counts bool
	// CurrentReplicas and DesiredReplicas are status's. DesiredReplicas is nil
	// where status keeps the one it has.
	CurrentReplicas int32
	DesiredReplicas *int32
	// ShowMetrics says that status shows one entry for each of Decision.Metrics.
	ShowMetrics bool
	// Rescaled says that the scale was written.
	Rescaled bool
	// Reason is why the count changes; empty when it does not.
	Reason string
	// Error is the error of the reconciliation; empty when there is none.
	Error string
}

// Condition is a condition of the object's status.
type Condition struct {
	Type, Reason, Message string
	True                  bool
	// Moved says that the condition's status changed with this decision even if
	// the one before had the same.
	Moved bool
}

// Event is an event on the object.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Set gives a condition its last word; its place is where it was first set.
func (r *Report) Set(kind string, status bool, reason, message string) {
	c := Condition{Type: kind, True: status, Reason: reason, Message: message}
	for i := range r.Conditions {
		if r.Conditions[i].Type == kind {
			r.Conditions[i] = c
			return
		}
	}
	r.Conditions = append(r.Conditions, c)
}

// Warn adds a warning.
func (r *Report) Warn(reason, message string) {
	r.Events = append(r.Events, Event{Warning: true, Reason: reason, Message: message})
}

// Conflict is that of the object's Utilization targets with a vertical autoscaler
// that changes what they divide by.
type Conflict struct {
	// Message says which; empty when there is none.
	Message string
	// Shown is the status of the object's condition about it.
	Shown bool
}

// ShowConflict says it once as an event, and as a condition as long as it lasts.
func (r *Report) ShowConflict(c Conflict) {
	switch {
	case c.Message != "":
		r.Set(conflict.Condition, true, conflict.ReasonUtilization, c.Message)
		if !c.Shown {
			r.Warn(conflict.ReasonUtilization, c.Message)
		}
	case c.Shown:
		r.Set(conflict.Condition, false, conflict.ReasonNone, "no vertical autoscaler controls what this object's Utilization targets divide by")
	}
}
