package updater

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// decider has the core decide about workloads, from the states that the passes before left.
type decider struct {
	guard     guard
	workloads *workloads.Finder
	states    *states
}

// decideAll decides about each workload, in the order of their keys. It begins after last, where the pass before was
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

// decide reports whether there is a decision. What goes wrong with one object
// does not keep the others from theirs.
func (d *decider) decide(now time.Time, t *task, shared *workloads.Shared) (ok bool) {
	defer d.guard.catch(t.Workload, &ok)
	t.observed = d.workloads.Observation(t.Workload, shared)
	t.before = d.states.of(t.VPA.UID)
	t.decision, t.state = update.Decide(now, &t.Policy, t.before, t.observed)
	return true
}
