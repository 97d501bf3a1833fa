package updater

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// lastPasses is what passes tell to whoever explains them.
type lastPasses struct {
	mu sync.Mutex

	// What follows is guarded by mu.

	stale   bool
	results map[types.NamespacedName]passResult
}

// passResult is what a pass saw of a workload, and what it came to. It is not changed
// once it is told.
type passResult struct {
	at    time.Time
	uid   types.UID
	state update.State
	// toUpdate are the pods that should be changed, or were.
	toUpdate []podResult
	nodes    map[string]resize.Node
	// used is what containers used, by the pods' UIDs and their names.
	used map[string]map[string]vertical.Amounts
	// evictionsStopped is why nothing was evicted in the whole cluster.
	evictionsStopped reason.Reason
	failedCreate     bool
}

type podResult struct {
	name, uid         string
	action            update.Kind
	reason, blockedBy reason.Reason
}

// record keeps what a pass came to, instead of what the one before did. Objects that
// are gone are forgotten.
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

// recordSkipped keeps that a pass was left out, as nobody renews the Lease.
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

// UpdaterState is what the updater remembers of an object, nil for one that no pass has
// looked at. It may be called by many goroutines.
func (c *Controller) UpdaterState(object types.NamespacedName) *snapshotvertical.Updater {
	l, stale, ok := c.lastPasses.of(object)
	if !ok && !stale {
		return nil
	}
	u := &snapshotvertical.Updater{
		Time: l.at, Interval: metav1.Duration{Duration: c.cfg.Interval}, LeaseStale: stale,
		State:            l.state.Clone(),
		EvictionsStopped: l.evictionsStopped.String(), FailedCreate: l.failedCreate,
	}
	u.Evictions, u.Resizes = c.limits.left()
	next := time.Now()
	if after := l.at.Add(c.cfg.Interval); after.After(next) {
		next = after
	}
	u.EvictionsLeft = c.budget.evictionsLeft(next)
	if !ok {
		// The circuit and the timers are taken from the pods, as the first pass will do.
		u.Time, u.State = time.Time{}, update.State{}
	}
	for _, v := range l.toUpdate {
		u.Pods = append(u.Pods, snapshotvertical.PodVerdict{
			Name: v.name, UID: v.uid, Action: v.action.String(), Reason: v.reason.String(), BlockedBy: v.blockedBy.String(),
		})
	}
	for uid, used := range l.used {
		if len(used) == 0 {
			continue
		}
		if u.Used == nil {
			u.Used = map[string]map[string]vertical.Amounts{}
		}
		u.Used[uid] = used
	}
	for name, node := range l.nodes {
		if u.Requested == nil {
			u.Requested = map[string]vertical.Amounts{}
		}
		u.Requested[name] = node.Others
	}
	return u
}
