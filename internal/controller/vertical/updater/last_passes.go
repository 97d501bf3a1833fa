package updater

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// lastPasses has the results of passes, for plimsoll explain.
type lastPasses struct {
	mu sync.Mutex

	// What follows is guarded by mu.

	stale   bool
	results map[types.NamespacedName]passResult
}

// passResult is the result of a pass for a workload. It is immutable once it is recorded.
type passResult struct {
	at    time.Time
	uid   types.UID
	state update.State
	// toUpdate has the pods that should have been changed, or were.
	toUpdate []podResult
	nodes    map[string]resize.Node
	// used is the use of containers, by the pods' UIDs and their names.
	used map[string]map[string]vertical.Amounts
	// evictionsStopped is the reason for no evictions in the whole cluster.
	evictionsStopped reason.Reason
	failedCreate     bool
}

type podResult struct {
	name, uid         string
	action            update.Kind
	reason, blockedBy reason.Reason
}

// record replaces the results of the last pass, and drops those of deleted objects.
func (m *lastPasses) record(at time.Time, tasks []*task, isKnown func(types.UID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.results == nil {
		m.results = map[types.NamespacedName]passResult{}
	}
	m.stale = false
	for name, l := range m.results {
		if !isKnown(l.uid) {
			delete(m.results, name)
		}
	}
	for _, t := range tasks {
		l := passResult{
			at: at, uid: t.VPA.UID, state: t.state, nodes: t.observed.Cluster.Nodes, used: t.observed.Cluster.Used,
			evictionsStopped: t.evictionsStopped, failedCreate: t.observed.Workload.FailedCreate,
		}
		for i := range t.decision.Pods {
			v := &t.decision.Pods[i]
			if v.Reason != reason.None || v.Action != update.Nothing {
				l.toUpdate = append(l.toUpdate,
					podResult{name: v.Pod.Name, uid: v.Pod.UID, action: v.Action, reason: v.Reason, blockedBy: v.BlockedBy})
			}
		}
		m.results[types.NamespacedName{Namespace: t.VPA.Namespace, Name: t.VPA.Name}] = l
	}
}

// recordSkipped records that a pass was skipped because the Lease is not renewed.
func (m *lastPasses) recordSkipped() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale = true
}

func (m *lastPasses) of(object types.NamespacedName) (l passResult, stale, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok = m.results[object]
	return l, m.stale, ok
}
