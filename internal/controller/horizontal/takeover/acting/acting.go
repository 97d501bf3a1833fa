// Package acting decides which objects this installation of Plimsoll acts on, and which it leaves to another
// controller: from the writes of their statuses, and from writes that should have happened and did not. It is pure: it
// has no clock and no lock.
//
// kube-controller-manager writes the status of an HPA only when it changes, so silence alone proves nothing. But it
// treats all HPAs alike: its writes to some HPAs show that it acts on the others too.
//
// A user who may edit the objects of a namespace may write any managedFields there. A write counts only if the status
// changed with it, which takes another permission, and evidence from one namespace counts for that namespace alone. For
// the others it counts once two namespaces have it. That this installation acts on objects, which lets it act on more,
// must hold in a fifth of the namespaces, too: a tenant may have two.
package acting

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// installationDelays is the number of delays for which an installation of Plimsoll may be silent: it writes nothing
	// while nothing changes.
	installationDelays = 5
	// quietPart is the divisor of the delay that gives the time without any status write of a controller, after which an
	// HPA that it wrote is checked for evidence.
	quietPart = 4
	// handoverTime is the time after the start in which writes of another controller count as ones that were in progress
	// when it was stopped.
	handoverTime = 2 * time.Second
	// namespacesPart is the divisor of the number of namespaces that gives those in which this installation must act on an
	// object before that counts for the others.
	namespacesPart = 5
	// maxWriters bounds the recorded controllers.
	maxWriters = 64
)

// State says who acts on an object.
type State uint8

// The states.
const (
	// Undecided: no other controller is known to act on the object, and this installation does not act on it yet.
	Undecided State = iota
	// Left: another controller acts on the object.
	Left
	// Acting: this installation acts on the object.
	Acting
)

// States has all of them, in their order.
var States = []State{Undecided, Left, Acting}

// String returns the state as the value of a label.
func (s State) String() string { return [...]string{"undecided", "left", "acting"}[s] }

// Rule says when this installation acts on an object.
type Rule uint8

// The rules.
const (
	// Always: it acts on the object, unless another controller has written its status within the delay.
	Always Rule = iota
	// UnlessInstalled: it acts on the object at once, unless another installation of Plimsoll does. From then on Evidence
	// applies.
	UnlessInstalled
	// Evidence: it acts on the object if the status shows that no other controller does.
	Evidence
)

// Scope is the namespace of an object and the rule for it.
type Scope struct {
	Namespace string
	Rule      Rule
}

// Object is the state of one object. The zero Object has not been added.
type Object struct {
	Scope
	isActing bool
	// isCounted is set while the count of its namespace includes it.
	isCounted bool
	// isContested is set if this installation acted on it until another controller wrote its status.
	isContested bool
	// needsEvidence is set if this installation acts on it only with evidence, not after a time of silence alone.
	needsEvidence bool
	// last is the newest write of any other controller.
	last Write
	// until is when Plimsoll acts again on an object that needs no evidence.
	until time.Time
	// differs is when the status first differed from what this installation would write; zero if it does not.
	differs time.Time
}

// IsActing reports whether this installation acts on the object.
func (o *Object) IsActing() bool { return o.isActing }

// IsContested reports whether this installation acted on the object until another controller wrote
// its status.
func (o *Object) IsContested() bool { return o.isContested }

// Last returns the newest write of the object's status by another controller; zero if there is none.
func (o *Object) Last() Write { return o.last }

// Cluster is the state of all objects together.
type Cluster struct {
	// Own is this installation's name in managedFields.
	Own string
	// Delay is the time without a status write by another controller after which this installation acts on an object.
	Delay time.Duration

	// started is when this program began to watch.
	started time.Time
	// seen has the last write of each other controller.
	seen map[string]newest
	// gone has the times at which an installation of Plimsoll had left an object out of date for the delay.
	gone map[string]newest
	// own and other are the newest writes to any HPA before the start, by the API server's clock.
	own, other newest
	// contested is the last write of another controller to any HPA.
	contested newest
	// acting counts the HPAs that this installation acts on by evidence, evidence has them by namespace.
	acting   int
	evidence evidences
	// objects counts the HPAs with the rule Evidence in each namespace.
	objects map[string]int
}

// Acting returns the number of HPAs that this installation acts on by evidence.
func (c *Cluster) Acting() int { return c.acting }

// Start records that the program watches objects from now on.
func (c *Cluster) Start(now time.Time) { c.started = now }

// Add adds an object, or replaces one of the same name. The writes that it already has are not new ones. It reports
// whether it is the first object that is left to the installation that wrote it.
func (c *Cluster) Add(o *Object, of Scope, w *Writes, now time.Time) (isFirst bool) {
	c.Remove(o)
	*o = Object{Scope: of, last: w.last(), isCounted: of.Rule == Evidence}
	if o.isCounted {
		if c.objects == nil {
			c.objects = map[string]int{}
		}
		c.objects[of.Namespace]++
	}
	switch of.Rule {
	case Always:
		o.isActing = true
	case UnlessInstalled:
		if isInstallation(w.Other.By) && !w.Own.After(w.Other.At) {
			isFirst = c.record(w.Other.By, of.Namespace, c.started)
		}
		o.isActing = w.Own.After(w.Other.At) || !c.isInstalledTwice(of.Namespace, now)
		o.needsEvidence = !o.isActing
	case Evidence:
		c.own, c.other = c.own.with(of.Namespace, w.Own), c.other.with(of.Namespace, o.last.At)
		o.needsEvidence = true
		if w.Own.After(o.last.At) {
			c.act(o, c.started)
		}
	}
	return isFirst && !o.isActing
}

// Remove removes a deleted object.
func (c *Cluster) Remove(o *Object) {
	c.stop(o)
	if o.isCounted {
		if c.objects[o.Namespace]--; c.objects[o.Namespace] == 0 {
			delete(c.objects, o.Namespace)
		}
	}
	o.isContested, o.isCounted = false, false
}

// Change is the effect of an update of an object.
type Change struct {
	// Other is a new write of another controller, Junior one of an installation that must leave the object to this one;
	// zero if there is none.
	Other, Junior Write
	// HasStopped is set if this installation acted on the object until now.
	HasStopped bool
	// IsFirst is set if this is the first recorded write of the controller.
	IsFirst bool
}

// Update processes the new status writes in an update of an object.
func (c *Cluster) Update(o *Object, w *Writes, now time.Time) Change {
	change := Change{Other: w.Other, Junior: w.Junior}
	if !o.isActing && change.Junior.At.After(change.Other.At) {
		// The junior acts on the object, and this installation does not.
		change.Other, change.Junior = change.Junior, Write{}
	}
	by := change.Other.By
	if by == "" {
		return change
	}
	change.IsFirst = c.record(by, o.Namespace, now)
	o.last = change.Other
	if o.Rule == Evidence {
		c.contested = c.contested.with(o.Namespace, now)
	} else if now.Sub(c.started) <= handoverTime {
		return change
	}
	change.HasStopped = o.isActing
	o.isContested = o.isContested || o.isActing
	c.stop(o)
	o.differs, o.until = time.Time{}, now.Add(c.Patience(by))
	o.needsEvidence = o.Rule == Evidence || o.Rule == UnlessInstalled && isInstallation(by)
	return change
}

// StateAt returns who acts on the object now, and for an object that is left, until when it is at least. If the
// conditions for acting hold, this installation acts on the object from now on.
func (c *Cluster) StateAt(o *Object, now time.Time) (state State, until time.Time) {
	state, until = c.Peek(o, now)
	switch {
	case state == Left:
		o.differs = time.Time{}
	case state == Undecided && (!o.needsEvidence || c.isGone(o) || o.Rule == Evidence && c.isAlone(o.Namespace, now)):
		c.act(o, now)
		state = Acting
	}
	return state, until
}

// Peek returns the same as StateAt without changing the object.
func (c *Cluster) Peek(o *Object, now time.Time) (state State, until time.Time) {
	until = o.until
	if o.needsEvidence {
		until = c.activeUntil(o)
	}
	switch {
	case o.isActing:
		return Acting, time.Time{}
	case now.Before(until):
		return Left, until
	}
	return Undecided, time.Time{}
}

// Compared processes whether the status of an undecided object differs from what a controller that acts on it would
// have written. It reports whether this installation acts on the object from now on.
func (c *Cluster) Compared(o *Object, differs bool, now time.Time) (acts bool) {
	state, _ := c.StateAt(o, now)
	switch {
	case state != Undecided:
		return state == Acting
	case !differs:
		o.differs = time.Time{}
	case o.differs.IsZero():
		o.differs = now
	case c.hasDiffered(o, now):
		c.recordMissed(o, now)
		c.act(o, now)
	}
	return o.isActing
}

// IsFirst reports whether this installation would act on the undecided object if its status still differs now, and acts
// on none by such evidence yet.
func (c *Cluster) IsFirst(o *Object, now time.Time) bool {
	state, _ := c.Peek(o, now)
	return state == Undecided && c.hasDiffered(o, now) &&
		(o.Rule != Evidence || !c.hasEvidence(o.Namespace, now, 0, enoughToBegin))
}

func (c *Cluster) hasDiffered(o *Object, now time.Time) bool {
	return !o.differs.IsZero() && now.Sub(o.differs) >= c.Delay
}

// Patience returns for how long this controller may be silent on an object that it acts on.
func (c *Cluster) Patience(by string) time.Duration {
	if isInstallation(by) {
		return installationDelays * c.Delay
	}
	return c.Delay
}

// activeUntil returns until when the controller that wrote the object's status counts as active. An object without a
// writer may be the next one of any of them.
func (c *Cluster) activeUntil(o *Object) time.Time {
	if by := o.last.By; by != "" {
		return timing.Later(c.started, c.seen[by].in(o.Namespace)).Add(c.quietTime(by))
	}
	until := c.started.Add(c.quietTime(""))
	for by, at := range c.seen {
		until = timing.Later(until, at.in(o.Namespace).Add(c.quietTime(by)))
	}
	return until
}

// quietTime returns the time without any status write of this controller before evidence counts.
func (c *Cluster) quietTime(by string) time.Duration {
	if isInstallation(by) {
		return c.Patience(by)
	}
	return c.Delay / quietPart
}

// isInstalledTwice reports whether another installation of Plimsoll, which takes precedence over this one, acts in the
// cluster.
func (c *Cluster) isInstalledTwice(namespace string, now time.Time) bool {
	for by, at := range c.seen {
		if isInstallation(by) && !isJunior(by, c.Own) && now.Sub(at.in(namespace)) < c.Patience(by) {
			return true
		}
	}
	return false
}

// record records a write of another controller, and reports whether it is the first one.
func (c *Cluster) record(by, namespace string, now time.Time) (isFirst bool) {
	last, isKnown := c.seen[by]
	if c.seen == nil || !isKnown && len(c.seen) >= maxWriters {
		// A flood of managers that write once each are no controllers: start over.
		c.seen, c.gone = map[string]newest{}, nil
	}
	c.seen[by] = last.with(namespace, now)
	return !isKnown
}

// recordMissed records that the installation of Plimsoll that wrote the object did not make a due write. An
// installation acts on all of its objects or on none.
func (c *Cluster) recordMissed(o *Object, now time.Time) {
	by := o.last.By
	if !isInstallation(by) {
		return
	}
	if c.gone == nil {
		c.gone = map[string]newest{}
	}
	c.gone[by] = c.gone[by].with(o.Namespace, now)
}

// isGone reports whether the installation of Plimsoll that wrote the object has missed a due write, and has written
// nothing since.
func (c *Cluster) isGone(o *Object) bool {
	by := o.last.By
	return c.gone[by].in(o.Namespace).After(c.seen[by].in(o.Namespace))
}

func (c *Cluster) act(o *Object, now time.Time) {
	o.isActing, o.isContested, o.differs = true, false, time.Time{}
	if o.Rule != Evidence {
		return
	}
	c.evidence.add(o.Namespace, now, c.contested.in(o.Namespace))
	c.acting++
}

func (c *Cluster) stop(o *Object) {
	if o.isActing && o.Rule == Evidence {
		c.acting--
		c.evidence.remove(o.Namespace)
	}
	o.isActing = false
}
