// Package takeover handles another controller that autoscales the same objects. Detector finds out from the writes of
// an object's status whether there is one, and which objects this installation acts on. Comparison compares decisions
// on HPAs in mode shadow, in which the other controller scales.
package takeover

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover/acting"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// FieldManager is Plimsoll's name in managedFields.
const FieldManager = acting.FieldManager

// State says who acts on an object.
type State = acting.State

// The states.
const (
	// Undecided: no other controller is known to act on the object, and this installation does not act on it yet.
	Undecided = acting.Undecided
	// Left: another controller acts on the object.
	Left = acting.Left
	// Acting: this installation acts on the object.
	Acting = acting.Acting
)

// DefaultDelay is the time without a status write by another controller after which this installation acts on an
// object.
const DefaultDelay = 2 * time.Minute

// ErrContested is returned while another controller scales the object.
var ErrContested = errors.New("another controller writes the object's status")

// Contest is the state of one object: who acts on it.
type Contest struct {
	// isPaused is set while this installation does not act on the object.
	isPaused atomic.Bool

	// The detector's lock guards the following.
	object acting.Object
	// isAdded is set while the object exists, isCounted while the series of states counts it under state. isForgotten is
	// set for good once it has been deleted: an object of the same name has a Contest of its own.
	isAdded, isCounted, isForgotten bool
	state                           State
	// junior is the last write of another installation that must leave the object alone; juniorReported is the time of the
	// last event about it.
	junior         acting.Write
	juniorReported time.Time
}

// Config configures a Detector.
type Config struct {
	// FieldManager is this installation's name in managedFields.
	FieldManager string
	Mode         Mode
	// Delay is the time without a status write by another controller after which this installation acts on an object.
	Delay  time.Duration
	Series *monitor.Series
	Events record.EventRecorder
	Log    logr.Logger
}

// Detector finds the writes of other controllers.
type Detector struct {
	Config
	// mu guards the following, and the part of each Contest whose comment says so.
	mu      sync.Mutex
	cluster acting.Cluster
}

// New returns a Detector without objects.
func New(cfg *Config) *Detector {
	for _, state := range acting.States {
		if cfg.Mode == Auto || cfg.Mode == Act {
			cfg.Series.States.WithLabelValues(state.String())
		}
	}
	return &Detector{Config: *cfg, cluster: acting.Cluster{Own: cfg.FieldManager, Delay: cfg.Delay}}
}

// Start records that the objects are watched from now on.
func (d *Detector) Start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cluster.Start(time.Now())
}

// Added adds a new object: the writes in its managedFields are not new ones. Without a status there were none: a user
// who may create an object may give it any managedFields.
func (d *Detector) Added(c *Contest, autoscaler observehorizontal.Autoscaler) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.isForgotten {
		d.addLocked(c, autoscaler)
	}
}

func (d *Detector) addLocked(c *Contest, autoscaler observehorizontal.Autoscaler) {
	var w acting.Writes
	if len(autoscaler.Status().Conditions) > 0 {
		w = acting.WritesOf(autoscaler.ManagedFields, nil, d.FieldManager)
	}
	d.endLocked(c)
	c.isAdded, c.junior = true, acting.Write{}
	scope := acting.Scope{Namespace: autoscaler.Namespace, Rule: d.Mode.rule(autoscaler.Kind())}
	isFirst := d.cluster.Add(&c.object, scope, &w, time.Now())
	d.countLocked(c, autoscaler.Kind())
	if isFirst {
		d.reportLeftLocked(autoscaler, c.object.Last().By)
	}
}

// reportLeftLocked logs once that WorkloadAutoscalers are left to another installation of Plimsoll, which wrote their
// statuses before this program watched. That installation may have been removed, which only its silence shows. There is
// no event: each start would repeat it for each object.
func (d *Detector) reportLeftLocked(autoscaler observehorizontal.Autoscaler, by string) {
	wait := d.cluster.Patience(by) + d.Delay
	d.Log.Info("another installation of plimsoll wrote the statuses of WorkloadAutoscalers last: they are left to that "+
		"one; if it is removed, this one scales them after this time", "writer", by, "wait", wait.String(), "object",
		nameOf(autoscaler))
}

// Updated processes an update that may contain a status write of another controller. It is one only if the status
// changed: a user who may edit the object may write any managedFields, but no status.
func (d *Detector) Updated(c *Contest, old, autoscaler observehorizontal.Autoscaler) {
	w := acting.WritesOf(autoscaler.ManagedFields, old.ManagedFields, d.FieldManager)
	if w.Other.By+w.Junior.By != "" && !observehorizontal.StatusChanged(old, autoscaler) {
		w = acting.Writes{}
	}
	now := time.Now()
	d.mu.Lock()
	if !c.isAdded {
		d.mu.Unlock()
		return
	}
	was := c.object.IsContested()
	change := d.cluster.Update(&c.object, &w, now)
	if c.object.IsContested() && !was {
		d.Series.Contested.Inc()
	}
	d.countLocked(c, autoscaler.Kind())
	pause := d.cluster.Patience(change.Other.By)
	isJuniorReported := change.Junior.By != "" && now.Sub(c.juniorReported) >= d.Delay
	if change.Junior.By != "" {
		c.junior = acting.Write{By: change.Junior.By, At: now}
	}
	if isJuniorReported {
		c.juniorReported = now
	}
	d.mu.Unlock()
	for _, write := range []acting.Write{change.Other, change.Junior} {
		if write.By != "" {
			d.Series.ForeignWrites.Inc()
		}
	}
	d.report(autoscaler, &change, pause)
	if isJuniorReported {
		d.reportJunior(autoscaler, change.Junior.By)
	}
}

func (d *Detector) report(autoscaler observehorizontal.Autoscaler, change *acting.Change, pause time.Duration) {
	isAuto := d.Mode.rule(autoscaler.Kind()) == acting.Evidence
	warn := func(then string, args ...any) {
		d.Events.Eventf(autoscaler.Object(), corev1.EventTypeWarning, "ScalingContested",
			"%s writes the status of this object too; plimsoll "+then, append([]any{change.Other.By}, args...)...)
	}
	switch {
	case change.HasStopped && isAuto:
		d.Log.Info("another controller writes the status of this object: it is left to that controller",
			"object", nameOf(autoscaler), "writer", change.Other.By)
		warn("leaves it to that controller")
	case change.HasStopped:
		d.Log.Info("another controller writes the status of this object: it is not scaled for a while after the "+
			"last such write", "object", nameOf(autoscaler), "writer", change.Other.By, "pause", pause.String())
		warn("does not scale it until %g minutes after the last such write", pause.Minutes())
	case change.IsFirst && isAuto:
		d.Log.Info("another controller writes the statuses of HorizontalPodAutoscalers: they are left to it",
			"writer", change.Other.By, "object", nameOf(autoscaler))
	}
}

// reportJunior reports another installation of Plimsoll that must leave the object to this one.
func (d *Detector) reportJunior(autoscaler observehorizontal.Autoscaler, by string) {
	d.Log.Info("another installation of plimsoll writes the status of this object too; only one may",
		"object", nameOf(autoscaler), "writer", by)
	d.Events.Eventf(autoscaler.Object(), corev1.EventTypeWarning, "ScalingContested",
		"%s, another installation of plimsoll, writes the status of this object too; this one goes on scaling it", by)
}

// State returns who acts on the object, and for one that is left, until when it is at least. hasBegun is set if this
// installation acts on it from now on. The caller then treats the object as a new one: its history has a gap, on which
// it could scale down too early.
func (d *Detector) State(
	c *Contest, autoscaler observehorizontal.Autoscaler,
) (state State, until time.Time, hasBegun bool) {
	return d.state(c, autoscaler, func(now time.Time) (State, time.Time) { return d.cluster.StateAt(&c.object, now) })
}

// Compared processes whether the status of an undecided object differs from what a controller that acts on it would
// have written. It reports whether this installation acts on the object from now on.
func (d *Detector) Compared(c *Contest, autoscaler observehorizontal.Autoscaler, differs bool) (hasBegun bool) {
	_, _, hasBegun = d.state(c, autoscaler, func(now time.Time) (State, time.Time) {
		d.cluster.Compared(&c.object, differs, now)
		return d.cluster.StateAt(&c.object, now)
	})
	return hasBegun
}

// IsFirst reports whether this installation would act on the undecided object if its status still differs now, and acts
// on none by such evidence yet.
func (d *Detector) IsFirst(c *Contest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster.IsFirst(&c.object, time.Now())
}

func (d *Detector) state(
	c *Contest, autoscaler observehorizontal.Autoscaler, next func(now time.Time) (State, time.Time),
) (state State, until time.Time, hasBegun bool) {
	d.mu.Lock()
	if !c.isAdded {
		// The informer has not reported the object yet, or it did before the previous object of this name was forgotten.
		d.addLocked(c, autoscaler)
	}
	wasActing, wasContested := c.object.IsActing(), c.object.IsContested()
	state, until = next(time.Now())
	hasBegun = !wasActing && c.object.IsActing()
	if hasBegun && wasContested {
		d.Series.Contested.Dec()
	}
	d.countLocked(c, autoscaler.Kind())
	isFirst := d.cluster.Acting() == 1
	d.mu.Unlock()
	if hasBegun {
		d.reportBegun(autoscaler, wasContested, isFirst)
	}
	return state, until, hasBegun
}

func (d *Detector) reportBegun(autoscaler observehorizontal.Autoscaler, wasContested, isFirst bool) {
	switch {
	case wasContested:
		d.Log.Info("no other controller writes the status of this object any more: it is scaled again", "object",
			nameOf(autoscaler))
		d.Events.Eventf(autoscaler.Object(), corev1.EventTypeNormal, "ScalingResumed",
			"no other controller has written the status of this object for a while; plimsoll scales it again")
	case isFirst:
		d.Log.Info("no other controller writes the statuses of HorizontalPodAutoscalers: plimsoll acts on them",
			"object", nameOf(autoscaler))
	default:
		d.Log.V(1).Info("no other controller writes the status of this object: plimsoll acts on it", "object",
			nameOf(autoscaler))
	}
}

// Junior returns the other installation of Plimsoll that has written the object's status within the delay, although it
// must leave the object to this one; empty if there is none. It leaves the object once this one writes the status, and
// while both decide the same, there is nothing to write but a condition that names the other one.
func (d *Detector) Junior(c *Contest) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.junior.By == "" || time.Since(c.junior.At) >= d.Delay {
		return ""
	}
	return c.junior.By
}

// Why returns the reason why this installation does not act on the object; empty if it does, or if there is no such
// object.
func (d *Detector) Why(c *Contest) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.isAdded {
		return ""
	}
	state, _ := d.cluster.Peek(&c.object, time.Now())
	last := c.object.Last()
	switch {
	case state == Acting:
		return ""
	case state == Left && last.By != "":
		return fmt.Sprintf("it is left to %s, which wrote its status at %s", last.By, last.At.UTC().Format(time.RFC3339))
	case state == Left:
		return "no controller has written its status yet, and it may be another controller's next one"
	}
	return fmt.Sprintf("no other controller is known to act on it: plimsoll does once its status has been out of date "+
		"for %s", d.Delay)
}

// IsPaused reports whether this installation does not act on the object.
func (c *Contest) IsPaused() bool { return c.isPaused.Load() }

// Forget drops a deleted object.
func (d *Detector) Forget(c *Contest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(c)
	c.isAdded, c.isForgotten = false, true
}

func (d *Detector) endLocked(c *Contest) {
	if c.object.IsContested() {
		d.Series.Contested.Dec()
	}
	if c.isCounted {
		d.Series.States.WithLabelValues(c.state.String()).Dec()
		c.isCounted = false
	}
	d.cluster.Remove(&c.object)
}

// countLocked updates the series and isPaused after a change of the object's state.
func (d *Detector) countLocked(c *Contest, kind observe.Kind) {
	state, _ := d.cluster.Peek(&c.object, time.Now())
	c.isPaused.Store(state != Acting)
	if kind != observe.HorizontalPodAutoscaler || c.isCounted && c.state == state {
		return
	}
	if c.isCounted {
		d.Series.States.WithLabelValues(c.state.String()).Dec()
	}
	d.Series.States.WithLabelValues(state.String()).Inc()
	c.state, c.isCounted = state, true
}

func nameOf(autoscaler observehorizontal.Autoscaler) string {
	return autoscaler.Namespace + "/" + autoscaler.Name
}
