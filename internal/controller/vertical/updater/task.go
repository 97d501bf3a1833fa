package updater

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// task is a workload with what was decided about it in one pass.
type task struct {
	*workloads.Workload
	observed *update.Observation
	decision update.Decision
	// state is that after the decision and what was done, before that of the pass before.
	state, before update.State
	// attempted are the UIDs of the pods that the API server was asked to change in this pass.
	attempted []string
	// evictionsStopped is why nothing is evicted in the whole cluster.
	evictionsStopped reason.Reason
}

func (t *task) stopEvictions(why reason.Reason) {
	t.evictionsStopped = why
	t.decision.StopEvictions(why)
}

// guard keeps a defect to one object.
type guard struct {
	log    logr.Logger
	panics prometheus.Counter
}

// catch is to be deferred. It recovers from a panic and sets ok to false.
func (g *guard) catch(w *workloads.Workload, ok *bool) {
	if cause := recover(); cause != nil {
		*ok = false
		panics.Report(cause, g.log, g.panics.Inc, "a defect: the object is left out", "vpa", w.Key())
	}
}
