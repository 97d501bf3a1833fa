package horizontal

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

const (
	// contestPause is how long an object is left alone after another controller
	// wrote its status.
	contestPause = 2 * time.Minute
	// installationPause is the same after another installation of Plimsoll wrote it, which
	// writes nothing as long as nothing changes.
	installationPause = 10 * time.Minute
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
	// until is when the object is Plimsoll's again, after such a pause; zero when it is.
	until time.Time
	pause time.Duration
	// junior is the time of the newest write seen of another Plimsoll that leaves the
	// object to this one, told when an event last said so.
	junior, told time.Time
}

// write is a write of an object's status.
type write struct {
	by string
	at time.Time
}

// isJunior reports whether a writer is another Plimsoll that leaves the object to this
// one. Of two Plimsolls that find each other one has to go on, or both would stop and come
// back together.
func (c *Controller) isJunior(manager string) bool {
	return strings.HasPrefix(manager, FieldManager+"/") && c.config.FieldManager < manager
}

// foreignWrites are the newest write of the object's status that is not this
// Plimsoll's, and that of a Plimsoll which leaves the object to this one; zero if there is none.
func (c *Controller) foreignWrites(hpa *autoscalingv2.HorizontalPodAutoscaler) (newest, junior write) {
	for i := range hpa.ManagedFields {
		entry := &hpa.ManagedFields[i]
		if entry.Subresource != "status" || entry.Manager == c.config.FieldManager || entry.Time == nil {
			continue
		}
		of := &newest
		if c.isJunior(entry.Manager) {
			of = &junior
		}
		if entry.Time.After(of.at) {
			*of = write{by: entry.Manager, at: entry.Time.Time}
		}
	}
	return newest, junior
}

// notice looks for a new status write of another controller.
func (c *Controller) notice(hpa *autoscalingv2.HorizontalPodAutoscaler, running time.Duration) {
	found, junior := c.foreignWrites(hpa)
	c.noticeJunior(hpa, junior, running)
	c.mu.Lock()
	t := c.trackOf(nameOf(hpa))
	isNew := found.at.After(t.contest.newest)
	if isNew {
		t.contest.newest = found.at
	}
	begins := false
	if isNew && running > handoverGrace && !c.config.Shadow {
		begins = t.contest.until.IsZero()
		t.contest.pause = contestPause
		if strings.HasPrefix(found.by, FieldManager) {
			t.contest.pause = installationPause
		}
		t.contest.until = time.Now().Add(t.contest.pause)
	}
	pause := t.contest.pause
	c.mu.Unlock()
	if !isNew || c.config.Shadow {
		return
	}
	c.metrics.foreignWrites.Inc()
	if begins {
		c.metrics.contested.Inc()
		c.log.Info("another controller writes the status of this object: it is not scaled for a while after the last such write",
			"object", nameOf(hpa).String(), "writer", found.by, "pause", pause.String())
		c.config.Events.Eventf(hpa, corev1.EventTypeWarning, "ScalingContested",
			"%s writes the status of this object too; plimsoll does not scale it until %d minutes after the last such write", found.by, pause/time.Minute)
	}
}

// noticeJunior tells of another Plimsoll that leaves the object to this one, when it has
// written again.
func (c *Controller) noticeJunior(hpa *autoscalingv2.HorizontalPodAutoscaler, found write, running time.Duration) {
	c.mu.Lock()
	s := &c.trackOf(nameOf(hpa)).contest
	isNew := found.at.After(s.junior) && running > handoverGrace
	if found.at.After(s.junior) {
		s.junior = found.at
	}
	tells := isNew && !c.config.Shadow && time.Since(s.told) >= contestPause
	if tells {
		s.told = time.Now()
	}
	c.mu.Unlock()
	if isNew {
		c.metrics.foreignWrites.Inc()
	}
	if tells {
		c.log.Info("another installation of plimsoll writes the status of this object too: that one is to leave it alone",
			"object", nameOf(hpa).String(), "writer", found.by)
		c.config.Events.Eventf(hpa, corev1.EventTypeWarning, "ScalingContested",
			"%s, another installation of plimsoll, writes the status of this object too; this one goes on scaling it", found.by)
	}
}

// contested says until when the object is left alone. When that time has come
// it is taken up again like one that is new: what happened meanwhile was not
// seen, and a history with a hole would permit to scale down too early.
func (c *Controller) contested(t *track, hpa *autoscalingv2.HorizontalPodAutoscaler) (until time.Time, yes bool) {
	now := time.Now()
	c.mu.Lock()
	until, pause := t.contest.until, t.contest.pause
	ends := !until.IsZero() && !now.Before(until)
	if ends {
		c.endContest(t)
	}
	c.mu.Unlock()
	if ends {
		t.reset()
		c.log.Info("no other controller writes the status of this object any more: it is scaled again", "object", nameOf(hpa).String())
		c.config.Events.Eventf(hpa, corev1.EventTypeNormal, "ScalingResumed",
			"no other controller has written the status of this object for %d minutes; plimsoll scales it again", pause/time.Minute)
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
