package horizontal

import (
	corev1 "k8s.io/api/core/v1"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// useOthers decides on the pods that can be read where metrics.k8s.io was to stand in
// and does not answer: the pods of the nodes that cannot be read count as missing.
func (c *Controller) useOthers(p *pass, q *collection, lacking fallbackReason) {
	view := &p.scratch.view
	if lacking != nodeUnreadable || !view.IsUsable() {
		return
	}
	for i := range q.answers {
		if a := &q.answers[i]; isResource(p.policy.Metrics[i].Type) && saysNothing(a) {
			*a = answer{usage: view, took: a.took}
			p.unreadable = view.Unreadable().Pods
		}
	}
}

// saysNothing tells that metrics.k8s.io was asked, and does not answer or knows no pod.
func saysNothing(a *answer) bool {
	return a.Err != nil || a.Resource != nil && len(a.Resource.Items) == 0
}

// tellUnreadable says when pods of an object begin to count as missing because their
// nodes cannot be read, and when that is over.
func (c *Controller) tellUnreadable(p *pass) {
	c.mu.Lock()
	c.counts(p.track, p.unreadable)
	c.mu.Unlock()
	is, said := p.unreadable > 0, &p.track.reported.unreadable
	if is == *said {
		return
	}
	*said = is
	object := nameOf(p.hpa).String()
	if !is {
		c.log.Info("no pods count as missing any more because their nodes cannot be read", "object", object)
		return
	}
	why := p.scratch.view.Unreadable().String()
	c.log.Info("pods count as missing because their nodes cannot be read", "object", object, "pods", p.unreadable, "why", why)
	if !c.config.Shadow {
		c.record(p, observehorizontal.Event{Type: corev1.EventTypeWarning, Reason: "FailedReadKubelet", Message: "counted as missing: " + why})
	}
}

// counts adds up the pods that count as missing. It needs the lock.
func (c *Controller) counts(t *track, unreadable int) {
	c.series.Unreadable.Add(float64(unreadable - t.unreadable))
	t.unreadable = unreadable
}
