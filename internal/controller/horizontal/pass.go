package horizontal

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// pass is one decision on one HPA, from its observation to its outcome.
type pass struct {
	autoscaler observehorizontal.Autoscaler
	record     *hpaRecord
	policy     horizontal.Policy
	// began is when the worker began with the HPA; start when it began to observe, which is
	// later where the target's scale had to be asked for; decided when the decision was made.
	began, start, decided time.Time

	observation horizontal.Observation
	// scale, pods and metrics are what the observation was made of.
	scale   scaling.Observed
	pods    []*observe.Pod
	metrics readings.Decision
	result  readings.Result
	// purpose is what the decision is for.
	purpose purpose
	// actual is what the other controller did, where the decision is compared.
	actual  takeover.Actual
	scratch *scratch
	// update is what is reported.
	update status.Update
}

// purpose is what a decision is for.
type purpose uint8

const (
	// toAct decisions are carried out.
	toAct purpose = iota
	// toShadow decisions are compared with the other controller's.
	toShadow
	// toProbe decisions show whether another controller acts on the object.
	toProbe
)

// isFull reports whether everything is asked anew.
func (p *pass) isFull() bool { return p.observation.Trigger == trigger.Periodic }

// isByEventAlone reports whether the decision, which lowers nothing, may be followed by none that is on new samples:
// servers may answer the same for hours. Kubelets have other samples every second.
func (p *pass) isByEventAlone() bool {
	return p.observation.Trigger == trigger.Event && !p.result.HasKubelets
}

// mayLower reports whether a decision on what is already known may lower the replica count.
func (p *pass) mayLower() bool {
	return p.observation.Trigger != trigger.Event && !p.observation.NewerAwaited
}

// comparePeriodically makes the decision one that the other controller could have made, which
// decides by its sync period alone.
func (p *pass) comparePeriodically() {
	p.observation.Trigger, p.observation.NewerAwaited = trigger.Periodic, false
}

// scratch is the memory that a decision needs while it is made; each is used by many
// decisions, one after the other.
type scratch struct {
	pods     []*observe.Pod
	readings readings.Scratch
}

// scratchPool has those that no decision uses.
type scratchPool struct{ pool sync.Pool }

// acquire lends a decision buffers to work in.
func (s *scratchPool) acquire(p *pass) {
	p.scratch, _ = s.pool.Get().(*scratch)
	if p.scratch == nil {
		p.scratch = &scratch{}
	}
}

// release takes them back. Nothing of the decision may be used after that.
func (s *scratchPool) release(p *pass) {
	// What the buffers hold would keep removed HPAs and pods alive.
	clear(p.scratch.pods)
	p.scratch.readings.Reset()
	s.pool.Put(p.scratch)
	p.scratch = nil
}
