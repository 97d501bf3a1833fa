package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/report"
	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// reported is what was last told of an object.
type reported struct {
	// status is when status was last written, owed since when there is an urgent one to
	// write that was put off; zero if there is none.
	status, owed time.Time
	// turned is when a condition was last written anew.
	turned time.Time
	// backoff is between status writes that fail.
	backoff calls.Backoff
	// events is when each event was last recorded, by what it says.
	events map[observehorizontal.Event]time.Time
	// standIn says that metrics.k8s.io stands in for kubelets.
	standIn bool
	// unreadable says that pods count as missing because their nodes cannot be read.
	unreadable bool
}

// mayPutOff reports whether a status that is owed since then may be left to the next
// decision where the API server does not keep up. Whoever waits in line is not decided
// meanwhile, and all have a status to write at the start. A scaling is told at once,
// conditions after a sync period at most; numbers alone never keep their object from
// being decided.
func (c *Controller) mayPutOff(p *pass, r *report.Report, isUrgent bool, owed time.Time) bool {
	isAgainSoon := c.config.Triggers && p.isDirect
	isPatient := !isUrgent || owed.IsZero() || p.start.Sub(owed) < c.config.SyncPeriod
	return isAgainSoon && !r.Rescaled && isPatient
}

// firstReported is what was told of an object before this program knew it: numbers in its
// status go on having their time where another instance wrote them.
func (c *Controller) firstReported(hpa *autoscalingv2.HorizontalPodAutoscaler, now time.Time) reported {
	var s reported
	for i := range hpa.ManagedFields {
		entry := &hpa.ManagedFields[i]
		// Of a clock that is ahead it is not known when it was.
		if entry.Subresource == "status" && entry.Manager == c.config.FieldManager && entry.Time != nil && entry.Time.After(s.status) && !entry.Time.After(now) {
			s.status = entry.Time.Time
		}
	}
	return s
}

// worthStatus reports whether status is to be written now. What people wait for
// is written at once; a condition that noise may item, once in an interval; numbers,
// which are never twice the same, once in an interval and only if they have moved.
func (c *Controller) worthStatus(p *pass, after *autoscalingv2.HorizontalPodAutoscalerStatus, isUrgent bool) bool {
	if isUrgent || c.config.StatusInterval == 0 {
		return true
	}
	if time.Since(p.track.reported.turned) >= c.config.StatusInterval && status.Turned(&p.hpa.Status, after) {
		return true
	}
	return c.mayTell(p) && status.Moved(&p.hpa.Status, after)
}

// mayTell reports whether numbers may be a reason to write: the interval is over in which
// they are none, and the pace allows one more. Who waits for that builds no status.
func (c *Controller) mayTell(p *pass) bool {
	return time.Since(p.track.reported.status) >= c.config.StatusInterval && c.numbers.TokensAt(p.start) >= 1
}

// record tells of an event, unless it is a warning and the same was told in the
// interval before.
func (c *Controller) record(p *pass, e observehorizontal.Event) {
	if c.repeats(p.track, e) {
		return
	}
	c.config.Events.Event(p.hpa, e.Type, e.Reason, e.Message)
}

func (c *Controller) repeats(t *track, e observehorizontal.Event) bool {
	interval := c.config.EventInterval
	if interval == 0 || e.Type != corev1.EventTypeWarning {
		return false
	}
	now := time.Now()
	for known, at := range t.reported.events {
		if now.Sub(at) >= interval {
			delete(t.reported.events, known)
		}
	}
	if _, repeated := t.reported.events[e]; repeated {
		return true
	}
	if t.reported.events == nil {
		t.reported.events = map[observehorizontal.Event]time.Time{}
	}
	t.reported.events[e] = now
	return false
}
