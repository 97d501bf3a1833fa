package updater

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// stalePasses is the number of skipped passes in a row from which objects get a condition.
const stalePasses = 2

// passes runs the updater's passes over all workloads. One runs at a time.
type passes struct {
	objects     cache.Store
	divergences divergence.Set
	log         logr.Logger
	metrics     *metrics
	admission   *admission.Watch
	features    features
	workloads   *workloads.Finder
	decider     *decider
	actor       *actor
	conditions  *conditionWriter
	results     lastPasses
	// stoppedAt is the workload at which the last pass was stopped.
	stoppedAt string
	// stale counts the passes in a row that were skipped because the Lease was not renewed.
	stale int
}

// pass decides and acts on all workloads once. The next pass starts with those for which there was no time.
func (p *passes) pass(ctx context.Context) {
	timer, began := p.metrics.begin(), time.Now()
	defer timer.total()
	p.features.report()
	if !p.checkAdmission(ctx) {
		return
	}
	timer.step("ListVPAs")
	found := p.workloads.Find(ctx)
	timer.step("FilterPods")
	tasks := p.decider.decideAll(found, p.stoppedAt)
	p.metrics.countControlled(tasks)
	now := time.Now()
	p.actor.budget.begin(now, tasks)
	stopEvictions(now, tasks, p.workloads.Nodes(), p.divergences)
	timer.step("Decide")
	p.stoppedAt = p.actor.performAll(ctx, tasks)
	timer.step("EvictPods")
	for _, t := range tasks {
		p.actor.recordSkipped(t)
	}
	p.saveStates(tasks)
	p.results.record(began, tasks, p.decider.states.has)
	p.metrics.countPass(tasks)
	p.enqueueConditions(tasks)
}

// checkAdmission reads the Lease. After stalePasses passes without a renewal it sets a condition on the objects.
func (p *passes) checkAdmission(ctx context.Context) bool {
	alive, err := p.admission.Alive(ctx)
	if alive {
		p.stale = 0
		return true
	}
	p.metrics.invalidLease(err)
	p.results.recordSkipped()
	p.log.Info("pass skipped: the admission controller does not renew its Lease",
		"lease", p.admission.Lease.Namespace+"/"+p.admission.Lease.Name, "err", fmt.Sprint(err))
	p.stale++
	if p.stale < stalePasses {
		return false
	}
	for _, candidates := range p.workloads.Targets(ctx) {
		for _, w := range candidates {
			if w.Policy.Mode.Disrupts() {
				p.conditions.Set(w.VPA, report.Stale(), nil)
			}
		}
	}
	return false
}

func (p *passes) saveStates(tasks []*task) {
	for _, t := range tasks {
		p.decider.states.set(t.VPA, t.state)
	}
	for _, name := range p.decider.states.prune(p.objects) {
		p.metrics.forget(name)
	}
}

// enqueueConditions queues the condition of each workload at the end of the pass, to keep the load on the API server
// low while pods are changed.
func (p *passes) enqueueConditions(tasks []*task) {
	for _, t := range tasks {
		if condition, ok := report.Of(&t.decision); ok {
			p.conditions.Set(t.VPA, condition, nil)
		}
	}
}
