package horizontal

import (
	"slices"
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
	// began is when the worker started on the HPA; start when it started to observe, which is later if the target's scale
	// had to be requested; decided when the decision was made.
	began, start, decided time.Time

	observation horizontal.Observation
	// scale, pods, metrics and result are the inputs of the observation.
	scale   scaling.Observed
	pods    []*observe.Pod
	metrics readings.Decision
	result  readings.Result
	purpose purpose
	// actual is the other controller's decision, if the two are compared.
	actual  takeover.Actual
	scratch *scratch
	// update is the status to write.
	update status.Update
}

type purpose uint8

const (
	// toAct decisions are carried out.
	toAct purpose = iota
	// toShadow decisions are compared with the other controller's.
	toShadow
	// toProbe decisions show whether another controller acts on the object.
	toProbe
)

// isFull reports whether the decision requests all metrics and the scale again.
func (p *pass) isFull() bool { return p.observation.Trigger == trigger.Periodic }

// isByEventAlone reports whether an event alone caused the decision, without samples of kubelets. Such a decision
// lowers nothing and does not replace the periodic one: a server may return the same values for hours, so that no new
// sample may trigger another.
func (p *pass) isByEventAlone() bool {
	return p.observation.Trigger == trigger.Event && !p.result.HasKubelets
}

// mayLower reports whether a decision on what is already known may lower the replica count.
func (p *pass) mayLower() bool {
	return p.observation.Trigger != trigger.Event && !p.observation.NewerAwaited
}

// comparePeriodically makes the decision comparable with the other controller's, which decides by its sync period
// alone.
func (p *pass) comparePeriodically() {
	p.observation.Trigger, p.observation.NewerAwaited = trigger.Periodic, false
}

// scratch has the buffers of a decision while it is made. Decisions share them one after the other.
type scratch struct {
	pods     []*observe.Pod
	others   []readings.OtherPods
	readings readings.Scratch
}

// otherPods returns buffers for the pods of this many metrics that are not the target's.
func (s *scratch) otherPods(metrics int) []readings.OtherPods {
	s.others = slices.Grow(s.others[:0], metrics)[:metrics]
	for i := range s.others {
		if s.others[i].IsShared {
			s.others[i].Pods = nil
		}
		s.others[i] = readings.OtherPods{Pods: s.others[i].Pods[:0]}
	}
	return s.others
}

type scratchPool struct{ pool sync.Pool }

func (s *scratchPool) acquire(p *pass) {
	p.scratch, _ = s.pool.Get().(*scratch)
	if p.scratch == nil {
		p.scratch = &scratch{}
	}
}

// release returns the buffers to the pool. Nothing of the decision may be used after that.
func (s *scratchPool) release(p *pass) {
	// Pointers in the buffers would keep removed HPAs and pods alive.
	clear(p.scratch.pods)
	for i := range p.scratch.others {
		clear(p.scratch.others[i].Pods)
	}
	p.scratch.readings.Reset()
	s.pool.Put(p.scratch)
	p.scratch = nil
}
