// Package panics reports a panic over one object, which must not end the process.
package panics

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
)

// Report logs what recover returned, with the stack and with the keys and values that name the object, and counts it,
// unless count is nil.
// The deferred function that calls recover calls Report: then the stack is that of the panic.
func Report(cause any, log logr.Logger, count func(), message string, object ...any) {
	if count != nil {
		count()
	}
	log.Error(fmt.Errorf("panic: %v", cause), message, append(object, "stack", string(debug.Stack()))...)
}
