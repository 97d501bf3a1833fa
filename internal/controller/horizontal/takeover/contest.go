// Package takeover is about another controller that autoscales the same HPAs. Contest detects that
// one writes an HPA's status. Plimsoll then does not scale that HPA for a while. Comparison is for
// shadow mode, where the other one scales: it follows what happened and compares the decisions.
package takeover

import (
	"errors"
	"strings"
	"sync"
	"time"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
)

// FieldManager is Plimsoll's name in managedFields. Other installations in the cluster add
// a slash and something of their own, and so find each other.
const FieldManager = "plimsoll"

const (
	// Pause is how long an HPA is left alone after another controller wrote its status.
	Pause = 2 * time.Minute
	// installationPause is the same after another installation of Plimsoll wrote it, which
	// writes nothing as long as nothing changes.
	installationPause = 10 * time.Minute
	// handoverGrace is how long after the start writes of another controller are
	// taken for ones that were under way when it was stopped.
	handoverGrace = 2 * time.Second
)

// ErrContested says that another controller scales the HPA.
var ErrContested = errors.New("another controller writes the object's status")

// Contest is what is known of another controller that writes an HPA's status. Whether a write
// is new is decided by comparing with what was there before, not with a clock of this machine:
// the times in managedFields are the API server's and count whole seconds, and an entry keeps
// its time when parts of it go over to Plimsoll.
type Contest struct {
	// mu guards what follows.
	mu sync.Mutex
	// newest is the time of the newest such write seen.
	newest time.Time
	// until is when Plimsoll scales the HPA again, after such a pause; zero when it does.
	until time.Time
	pause time.Duration
	// isForgotten says that the HPA is gone: no pause begins, as none would end it.
	isForgotten bool
	// junior is the time of the newest write seen of another Plimsoll that leaves the HPA to
	// this one, juniorReported when that was last in an event.
	junior, juniorReported time.Time
}

// Detector notices writes of other controllers.
type Detector struct {
	// FieldManager is this installation's name in managedFields.
	FieldManager string
	// Shadow counts such writes and pauses for none.
	Shadow bool
	Series *monitor.Series
	// Events may be nil in shadow mode.
	Events record.EventRecorder
	Log    logr.Logger
}

// write is a write of an HPA's status.
type write struct {
	by string
	at time.Time
}

// isJunior reports whether a writer is another Plimsoll that leaves the HPA to this one. Of two
// Plimsolls that find each other one has to go on, or both would stop and come back together.
func (d *Detector) isJunior(manager string) bool {
	return strings.HasPrefix(manager, FieldManager+"/") && d.FieldManager < manager
}

// foreignWrites are the newest write of the HPA's status that is not this Plimsoll's, and that
// of a Plimsoll which leaves the HPA to this one; zero if there is none.
func (d *Detector) foreignWrites(hpa observehorizontal.Autoscaler) (newest, junior write) {
	for i := range hpa.ManagedFields {
		entry := &hpa.ManagedFields[i]
		if entry.Subresource != "status" || entry.Manager == d.FieldManager || entry.Time == nil {
			continue
		}
		of := &newest
		if d.isJunior(entry.Manager) {
			of = &junior
		}
		if entry.Time.After(of.at) {
			*of = write{by: entry.Manager, at: entry.Time.Time}
		}
	}
	return newest, junior
}

// Added ends a pause, for a new HPA: the writes in its managedFields are not new ones.
func (d *Detector) Added(c *Contest, hpa observehorizontal.Autoscaler) {
	newest, junior := d.foreignWrites(hpa)
	c.mu.Lock()
	defer c.mu.Unlock()
	d.end(c)
	c.newest, c.junior = newest.at, junior.at
}

// Updated notices a new status write of another controller. Running is for how long this
// program has watched.
func (d *Detector) Updated(c *Contest, hpa observehorizontal.Autoscaler, running time.Duration) {
	found, junior := d.foreignWrites(hpa)
	d.updatedByJunior(c, hpa, junior, running)
	c.mu.Lock()
	isNew := found.at.After(c.newest)
	if isNew {
		c.newest = found.at
	}
	begins := false
	if isNew && running > handoverGrace && !d.Shadow && !c.isForgotten {
		begins = c.until.IsZero()
		c.pause = Pause
		if strings.HasPrefix(found.by, FieldManager) {
			c.pause = installationPause
		}
		c.until = time.Now().Add(c.pause)
	}
	pause := c.pause
	c.mu.Unlock()
	if !isNew || d.Shadow {
		return
	}
	d.Series.ForeignWrites.Inc()
	if begins {
		d.Series.Contested.Inc()
		d.Log.Info("another controller writes the status of this object: it is not scaled for a while after the "+
			"last such write",
			"object", nameOf(hpa), "writer", found.by, "pause", pause.String())
		d.Events.Eventf(hpa.Object(), corev1.EventTypeWarning, "ScalingContested",
			"%s writes the status of this object too; plimsoll does not scale it until %d minutes after the last "+
				"such write", found.by, pause/time.Minute)
	}
}

// updatedByJunior reports another Plimsoll that leaves the HPA to this one, when it has written
// again.
func (d *Detector) updatedByJunior(
	c *Contest, hpa observehorizontal.Autoscaler, found write, running time.Duration,
) {
	c.mu.Lock()
	isNewer := found.at.After(c.junior)
	isNew := isNewer && running > handoverGrace
	if isNewer {
		c.junior = found.at
	}
	isReported := isNew && !d.Shadow && time.Since(c.juniorReported) >= Pause
	if isReported {
		c.juniorReported = time.Now()
	}
	c.mu.Unlock()
	if isNew {
		d.Series.ForeignWrites.Inc()
	}
	if isReported {
		d.Log.Info("another installation of plimsoll writes the status of this object too: that one is to leave it "+
			"alone",
			"object", nameOf(hpa), "writer", found.by)
		d.Events.Eventf(hpa.Object(), corev1.EventTypeWarning, "ScalingContested",
			"%s, another installation of plimsoll, writes the status of this object too; this one goes on scaling it",
			found.by)
	}
}

// Until is until when the HPA is left alone; zero if it is not. A pause that is over ends with
// this call, and ended is true: the HPA is to be treated like one that is new. What happened
// meanwhile was not seen, and a history with a hole would permit to scale down too early.
func (d *Detector) Until(c *Contest, hpa observehorizontal.Autoscaler) (until time.Time, ended bool) {
	now := time.Now()
	c.mu.Lock()
	until, pause := c.until, c.pause
	ended = !until.IsZero() && !now.Before(until)
	if ended {
		d.end(c)
	}
	c.mu.Unlock()
	if !ended {
		return until, false
	}
	d.Log.Info("no other controller writes the status of this object any more: it is scaled again", "object",
		nameOf(hpa))
	d.Events.Eventf(hpa.Object(), corev1.EventTypeNormal, "ScalingResumed",
		"no other controller has written the status of this object for %d minutes; plimsoll scales it again",
		pause/time.Minute)
	return time.Time{}, true
}

// IsPaused reports whether the HPA is left alone now.
func (c *Contest) IsPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.until)
}

// Forget ends a pause of an HPA that is gone.
func (d *Detector) Forget(c *Contest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d.end(c)
	c.isForgotten = true
}

// end needs the contest's lock.
func (d *Detector) end(c *Contest) {
	if !c.until.IsZero() {
		c.until = time.Time{}
		d.Series.Contested.Dec()
	}
}

func nameOf(hpa observehorizontal.Autoscaler) string { return hpa.Namespace + "/" + hpa.Name }
