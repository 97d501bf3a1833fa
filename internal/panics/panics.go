// Package panics reports a panic over one object, which must not end the process.
package panics

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// Recovered counts the panics of the process. The process registers it.
var Recovered = prometheus.NewCounter(prometheus.CounterOpts{
	Namespace: "plimsoll", Name: "recovered_panics_total",
	Help: "Panics while one object or response was processed, which is then skipped. The log shows where.",
})

// Report logs what recover returned, with the stack and with the keys and values that name the object, and counts it,
// in a series of the caller too unless count is nil.
// The deferred function that calls recover calls Report: then the stack is that of the panic.
func Report(cause any, log logr.Logger, count func(), message string, object ...any) {
	Recovered.Inc()
	if count != nil {
		count()
	}
	log.Error(fmt.Errorf("panic: %v", cause), message, append(object, "stack", string(debug.Stack()))...)
}
