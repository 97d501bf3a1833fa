package updater

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// UpdaterState returns the updater's state of an object; nil if no pass has decided it. It is safe for concurrent use.
func (c *Controller) UpdaterState(object types.NamespacedName) *snapshotvertical.Updater {
	l, stale, ok := c.passes.results.of(object)
	if !ok && !stale {
		return nil
	}
	u := &snapshotvertical.Updater{
		Time: l.at, Interval: metav1.Duration{Duration: c.cfg.Interval}, LeaseStale: stale,
		State:            l.state.Clone(),
		EvictionsStopped: l.evictionsStopped.String(), FailedCreate: l.failedCreate,
	}
	u.Evictions, u.Resizes = c.passes.actor.limits.left()
	next := time.Now()
	if after := l.at.Add(c.cfg.Interval); after.After(next) {
		next = after
	}
	u.EvictionsLeft = c.passes.actor.budget.evictionsLeft(next)
	if !ok {
		// The first pass will derive the circuit breaker and the timers from the pods.
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
		if refusals := snapshotvertical.RefusalsOf(&node); refusals != (snapshotvertical.KubeletRefusals{}) {
			if u.KubeletRefusals == nil {
				u.KubeletRefusals = map[string]snapshotvertical.KubeletRefusals{}
			}
			u.KubeletRefusals[name] = refusals
		}
	}
	return u
}
