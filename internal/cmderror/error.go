// Package cmderror has the form of the errors of commands: what happened, why, and what to do next.
package cmderror

import (
	"errors"
	"fmt"
	"strings"
)

// The exit statuses of commands. docs/reference/flags.md has them for each command.
const (
	// Failed is the exit status of a command whose answer is no, or that could not do what it should.
	Failed = 1
	// Misused is the exit status for a command line that cannot work. Nothing was read or changed.
	Misused = 2
)

// Error is an error as a user reads it. Only What must be there.
type Error struct {
	// What happened, with the object and the field or flag.
	What string
	// Why it happened.
	Why string
	// Next is the next step for the user, with a command if there is one.
	Next string
	// Flag and Value are those that cannot work, of a command line.
	Flag, Value string
	// Missing is the object that was not found.
	Missing *Object
	// Cause is the error behind it.
	Cause error
}

// Object is one of the API.
type Object struct {
	// Resource is the plural with its API group, such as horizontalpodautoscalers.autoscaling.
	Resource        string
	Namespace, Name string
}

var _ error = (*Error)(nil)

// Error is the error in one line.
func (e *Error) Error() string {
	var parts []string
	for _, part := range []string{e.What, e.Why, e.Next} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Unwrap is the error behind it.
func (e *Error) Unwrap() error { return e.Cause }

// status is an error with an exit status.
type status struct {
	error
	code int
}

// Unwrap is the error itself.
func (s *status) Unwrap() error { return s.error }

// WithStatus gives an error an exit status; nil stays nil.
func WithStatus(err error, code int) error {
	if err == nil {
		return nil
	}
	return &status{error: err, code: code}
}

// Usage gives an error about the command line its exit status; nil stays nil.
func Usage(err error) error { return WithStatus(err, Misused) }

// Usagef is an error about the command line.
func Usagef(format string, args ...any) error {
	wrapped := fmt.Errorf(format, args...)
	var own *Error
	if errors.As(wrapped, &own) {
		return Usage(wrapped)
	}
	return Usage(&Error{What: wrapped.Error(), Cause: errors.Unwrap(wrapped)})
}

// ExitStatus is the exit status for an error: its own, or else Failed; 0 for nil.
func ExitStatus(err error) int {
	var own *status
	switch {
	case err == nil:
		return 0
	case errors.As(err, &own):
		return own.code
	}
	return Failed
}

// IsUsage reports whether the error is about the command line.
func IsUsage(err error) bool { return err != nil && ExitStatus(err) == Misused }
