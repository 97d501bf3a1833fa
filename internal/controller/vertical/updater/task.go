package updater

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// task is a workload and the decision on it in one pass.
type task struct {
	*workloads.Workload
	observed *update.Observation
	decision update.Decision
	// state is the one after the decision and its actions, before the one of the last pass.
	state, before update.State
	// attempted has the UIDs of the pods for which this pass called the API server.
	attempted []string
	// evictionsStopped is the reason for no evictions in the whole cluster.
	evictionsStopped reason.Reason
}

func (t *task) stopEvictions(why reason.Reason) {
	t.evictionsStopped = why
	t.decision.StopEvictions(why)
}

// guard keeps a panic over one object from stopping the pass.
type guard struct {
	log    logr.Logger
	panics prometheus.Counter
}

// catch must be deferred. It recovers from a panic and sets ok to false.
func (g *guard) catch(w *workloads.Workload, ok *bool) {
	if cause := recover(); cause != nil {
		*ok = false
		panics.Report(cause, g.log, g.panics.Inc, "processing an object failed", "vpa", w.Key())
	}
}
