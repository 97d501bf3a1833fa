package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// said is what was last told of an object.
type said struct {
	// status is when status was last written.
	status time.Time
	// events is when each event was last recorded, by what it says.
	events map[observe.Event]time.Time
	// standIn says that metrics.k8s.io stands in for kubelets.
	standIn bool
}

// worthStatus reports whether status is to be written now. What people wait for
// is written at once; numbers, which are never twice the same, once in an
// interval and only if they have moved.
func (c *Controller) worthStatus(p *pass, after *autoscalingv2.HorizontalPodAutoscalerStatus) bool {
	before := &p.hpa.Status
	if c.config.StatusInterval == 0 || status.Urgent(before, after) {
		return true
	}
	return c.mayTell(p) && status.Moved(before, after)
}

// mayTell reports whether the interval is over in which numbers are no reason to write.
func (c *Controller) mayTell(p *pass) bool {
	return time.Since(p.track.said.status) >= c.config.StatusInterval
}

// record tells of an event, unless it is a warning and the same was told in the
// interval before.
func (c *Controller) record(p *pass, e observe.Event) {
	if c.repeats(p.track, e) {
		return
	}
	c.config.Events.Event(p.hpa, e.Type, e.Reason, e.Message)
}

func (c *Controller) repeats(t *track, e observe.Event) bool {
	interval := c.config.EventInterval
	if interval == 0 || e.Type != corev1.EventTypeWarning {
		return false
	}
	now := time.Now()
	for known, at := range t.said.events {
		if now.Sub(at) >= interval {
			delete(t.said.events, known)
		}
	}
	if _, repeated := t.said.events[e]; repeated {
		return true
	}
	if t.said.events == nil {
		t.said.events = map[observe.Event]time.Time{}
	}
	t.said.events[e] = now
	return false
}
