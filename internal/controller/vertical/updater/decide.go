package updater

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// decider decides workloads, with the states from the last pass.
type decider struct {
	guard     guard
	workloads *workloads.Finder
	states    *states
}

// decideAll decides each workload, in the order of their keys. It starts after last, at which the last pass was
// stopped.
func (d *decider) decideAll(found []*workloads.Workload, last string) []*task {
	byKey := make(map[string]*workloads.Workload, len(found))
	keys := make([]string, 0, len(found))
	for _, w := range found {
		byKey[w.Key()] = w
		keys = append(keys, w.Key())
	}
	now, shared := time.Now(), &workloads.Shared{}
	var tasks []*task
	for _, key := range priority.Rotate(keys, last) {
		t := &task{Workload: byKey[key]}
		if d.decide(now, t, shared) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// decide reports whether there is a decision. A panic over one object does not stop the decisions on the others.
func (d *decider) decide(now time.Time, t *task, shared *workloads.Shared) (ok bool) {
	defer d.guard.catch(t.Workload, &ok)
	t.observed = d.workloads.Observation(t.Workload, shared)
	t.before = d.states.of(t.VPA.UID)
	t.decision, t.state = update.Decide(now, &t.Policy, t.before, t.observed)
	return true
}
