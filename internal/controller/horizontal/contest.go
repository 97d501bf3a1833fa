package horizontal

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

const (
	// contestPause is how long an object is left alone after another controller
	// wrote its status.
	contestPause = 2 * time.Minute
	// handoverGrace is how long after the start writes of another controller are
	// taken for ones that were under way when it was stopped.
	handoverGrace = 2 * time.Second
)

// contest is what is known of another controller that writes an object's
// status. Whether a write is new is told by comparing with what was there
// before, not with a clock of this machine: the times in managedFields are the
// API server's and count whole seconds, and an entry keeps its time when parts
// of it go over to Plimsoll.
type contest struct {
	// newest is the time of the newest such write seen.
	newest time.Time
	// until is when the object is Plimsoll's again; zero when it is.
	until time.Time
}

// write is a write of an object's status.
type write struct {
	by string
	at time.Time
}

// foreignWrite is the newest write of the object's status that is not
// Plimsoll's; zero if there is none.
func foreignWrite(hpa *autoscalingv2.HorizontalPodAutoscaler) write {
	var newest write
	for i := range hpa.ManagedFields {
		entry := &hpa.ManagedFields[i]
		if entry.Subresource != "status" || entry.Manager == FieldManager || entry.Time == nil {
			continue
		}
		if entry.Time.After(newest.at) {
			newest = write{by: entry.Manager, at: entry.Time.Time}
		}
	}
	return newest
}

// notice looks for a new status write of another controller.
func (c *Controller) notice(hpa *autoscalingv2.HorizontalPodAutoscaler, running time.Duration) {
	found := foreignWrite(hpa)
	c.mu.Lock()
	t := c.trackOf(nameOf(hpa))
	isNew := found.at.After(t.contest.newest)
	if isNew {
		t.contest.newest = found.at
	}
	begins := false
	if isNew && running > handoverGrace && !c.config.Shadow {
		begins = t.contest.until.IsZero()
		t.contest.until = time.Now().Add(contestPause)
	}
	c.mu.Unlock()
	if !isNew || c.config.Shadow {
		return
	}
	c.metrics.foreignWrites.Inc()
	if begins {
		c.metrics.contested.Inc()
		c.log.Info("another controller writes the status of this object: it is not scaled until two minutes after the last such write",
			"object", nameOf(hpa).String(), "writer", found.by)
		c.config.Events.Eventf(hpa, corev1.EventTypeWarning, "ScalingContested",
			"%s writes the status of this object too; plimsoll does not scale it until two minutes after the last such write", found.by)
	}
}

// contested says until when the object is left alone. When that time has come
// it is taken up again like one that is new: what happened meanwhile was not
// seen, and a history with a hole would permit to scale down too early.
func (c *Controller) contested(t *track, hpa *autoscalingv2.HorizontalPodAutoscaler) (until time.Time, yes bool) {
	now := time.Now()
	c.mu.Lock()
	until = t.contest.until
	ends := !until.IsZero() && !now.Before(until)
	if ends {
		c.endContest(t)
	}
	c.mu.Unlock()
	if ends {
		t.reset()
		c.log.Info("no other controller writes the status of this object any more: it is scaled again", "object", nameOf(hpa).String())
		c.config.Events.Event(hpa, corev1.EventTypeNormal, "ScalingResumed",
			"no other controller has written the status of this object for two minutes; plimsoll scales it again")
	}
	return until, now.Before(until)
}

// isContested reports whether the object is left alone now.
func (c *Controller) isContested(t *track) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(t.contest.until)
}

// endContest needs the lock.
func (c *Controller) endContest(t *track) {
	if !t.contest.until.IsZero() {
		t.contest.until = time.Time{}
		c.metrics.contested.Dec()
	}
}
