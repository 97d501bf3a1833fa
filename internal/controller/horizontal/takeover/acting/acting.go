// Package acting decides which objects this installation of Plimsoll acts on, and which it leaves
// to another controller: from the writes of their statuses, and from what should have been
// written and was not. It is pure: it has no clock and no lock.
//
// kube-controller-manager writes the status of an HPA only when it changes, so silence alone
// proves nothing. What it does is the same for all HPAs, however: its writes of some HPAs show that
// it is there for the others too.
//
// Who may edit the objects of a namespace may write any managedFields there. A write counts only if
// the status changed with it, which takes another right, and what is seen in one namespace counts for that
// namespace alone. For the others it counts once it was seen in two. That this installation acts on objects, which is
// what makes it act on more, counts once that is so in a fifth of the namespaces, too: a tenant may have two.
package acting

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// installationDelays is how many delays an installation of Plimsoll may be silent: it
	// writes nothing as long as nothing changes.
	installationDelays = 5
	// quietPart is the part of the delay for which a controller must have written no status at
	// all before an HPA that it wrote is looked at.
	quietPart = 4
	// handoverTime is how long after the start writes of another controller are taken for ones
	// that were under way when it was stopped.
	handoverTime = 2 * time.Second
	// namespacesPart is the part of the namespaces in which this installation must act on an object before that counts
	// for the others.
	namespacesPart = 5
	// maxWriters bounds how many controllers are remembered.
	maxWriters = 64
)

// State says who acts on an object.
type State uint8

// The states.
const (
	// Undecided objects are left alone. No other controller is known to act on them.
	Undecided State = iota
	// Left objects are left to another controller.
	Left
	// Acting is the state of objects that this installation acts on.
	Acting
)

// States are all of them.
var States = []State{Undecided, Left, Acting}

// String is the state as the value of a label.
func (s State) String() string { return [...]string{"undecided", "left", "acting"}[s] }

// Rule says when an object is acted on.
type Rule uint8

// The rules.
const (
	// Always acts on the object, unless another controller has written its status within the
	// delay.
	Always Rule = iota
	// UnlessInstalled acts on the object at once, unless another installation of Plimsoll does.
	// From then on it takes what Evidence does.
	UnlessInstalled
	// Evidence acts on the object where its status shows that no other controller does.
	Evidence
)

// Scope is where an object is, and when it is acted on.
type Scope struct {
	Namespace string
	Rule      Rule
}

// Object is what is known of one object. The zero Object has not been added.
type Object struct {
	Scope
	isActing bool
	// isCounted says that its namespace's objects have it among them.
	isCounted bool
	// isContested says that it was acted on until another controller wrote its status.
	isContested bool
	// needsEvidence says that silence of the other controller does not end its part.
	needsEvidence bool
	// last is the newest write of any other controller.
	last Write
	// until is when Plimsoll acts again on an object that needs no evidence.
	until time.Time
	// differs is since when what would be written differs from the status; zero if it does not.
	differs time.Time
}

// IsActing reports whether this installation acts on the object.
func (o *Object) IsActing() bool { return o.isActing }

// IsContested reports whether this installation acted on the object until another controller wrote
// its status.
func (o *Object) IsContested() bool { return o.isContested }

// Last is the newest write of the object's status by another controller; zero if there is none.
func (o *Object) Last() Write { return o.last }

// Cluster is what is known of all objects together.
type Cluster struct {
	// Own is this installation's name in managedFields.
	Own string
	// Delay is how long no other controller must have written an object's status before this
	// installation acts on it.
	Delay time.Duration

	// started is when this program began to watch.
	started time.Time
	// seen is when a write of each other controller was last seen.
	seen map[string]newest
	// gone is when an installation of Plimsoll had left an object out of date for the delay.
	gone map[string]newest
	// own and other are the newest writes of any HPA before the start, by the API server's clock.
	own, other newest
	// contested is when another controller was last seen to write any HPA.
	contested newest
	// acting is how many HPAs are acted on by evidence, and evidence has those of each namespace.
	acting   int
	evidence evidences
	// objects are how many HPAs the namespaces have on which evidence decides.
	objects map[string]int
}

// Acting is how many HPAs are acted on because of evidence.
func (c *Cluster) Acting() int { return c.acting }

// Start says that the program begins to watch now.
func (c *Cluster) Start(now time.Time) { c.started = now }

// Add begins with an object, or with another one of the same name. The writes that it has are not
// new ones. It reports whether it is the first object that is left to the installation that wrote it.
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
			isFirst = c.see(w.Other.By, of.Namespace, c.started)
		}
		o.isActing = w.Own.After(w.Other.At) || !c.isInstalledTwice(of.Namespace, now)
		o.needsEvidence = !o.isActing
	case Evidence:
		c.own, c.other = c.own.see(of.Namespace, w.Own), c.other.see(of.Namespace, o.last.At)
		o.needsEvidence = true
		if w.Own.After(o.last.At) {
			c.act(o, c.started)
		}
	}
	return isFirst && !o.isActing
}

// Remove ends with an object that is gone.
func (c *Cluster) Remove(o *Object) {
	c.stop(o)
	if o.isCounted {
		if c.objects[o.Namespace]--; c.objects[o.Namespace] == 0 {
			delete(c.objects, o.Namespace)
		}
	}
	o.isContested, o.isCounted = false, false
}

// Change is what an update of an object shows.
type Change struct {
	// Other is a new write of another controller, Junior one of an installation that is to leave
	// the object alone; zero if there is none.
	Other, Junior Write
	// HasStopped says that this installation acted on the object until now.
	HasStopped bool
	// IsFirst says that no write of this controller was seen before.
	IsFirst bool
}

// Update takes in the new writes of its status that an update of an object shows.
func (c *Cluster) Update(o *Object, w *Writes, now time.Time) Change {
	change := Change{Other: w.Other, Junior: w.Junior}
	if !o.isActing && change.Junior.At.After(change.Other.At) {
		// It acts on the object, and this installation does not.
		change.Other, change.Junior = change.Junior, Write{}
	}
	by := change.Other.By
	if by == "" {
		return change
	}
	change.IsFirst = c.see(by, o.Namespace, now)
	o.last = change.Other
	if o.Rule == Evidence {
		c.contested = c.contested.see(o.Namespace, now)
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

// StateAt is who acts on the object now. For an object that is left, it also returns until when it is
// at least. An object whose time has come is acted on from now on.
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

// Peek is the same without a change.
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

// Compared takes in whether the status of an undecided object differs from what a controller that acts
// on it would have written. It reports whether this installation acts on the object from now on.
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
		c.missed(o, now)
		c.act(o, now)
	}
	return o.isActing
}

// IsFirst reports whether this installation acts on an undecided object if its status still differs now, and acts on
// none yet for such a reason.
func (c *Cluster) IsFirst(o *Object, now time.Time) bool {
	state, _ := c.Peek(o, now)
	return state == Undecided && c.hasDiffered(o, now) &&
		(o.Rule != Evidence || !c.hasEvidence(o.Namespace, now, 0, enoughToBegin))
}

func (c *Cluster) hasDiffered(o *Object, now time.Time) bool {
	return !o.differs.IsZero() && now.Sub(o.differs) >= c.Delay
}

// Patience is how long this controller may be silent on an object that it acts on.
func (c *Cluster) Patience(by string) time.Duration {
	if isInstallation(by) {
		return installationDelays * c.Delay
	}
	return c.Delay
}

// activeUntil is until when the controller that wrote the object's status counts as active. An object
// that none has written may be the next one of any of them.
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

// quietTime is how long this controller must have written no status at all.
func (c *Cluster) quietTime(by string) time.Duration {
	if isInstallation(by) {
		return c.Patience(by)
	}
	return c.Delay / quietPart
}

// isInstalledTwice reports whether another installation of Plimsoll acts in the cluster, to which this
// one leaves objects.
func (c *Cluster) isInstalledTwice(namespace string, now time.Time) bool {
	for by, at := range c.seen {
		if isInstallation(by) && !isJunior(by, c.Own) && now.Sub(at.in(namespace)) < c.Patience(by) {
			return true
		}
	}
	return false
}

// see notes a write of another controller, and reports whether it is the first one.
func (c *Cluster) see(by, namespace string, now time.Time) (isFirst bool) {
	last, isKnown := c.seen[by]
	if c.seen == nil || !isKnown && len(c.seen) >= maxWriters {
		// Managers that write once each are no controllers.
		c.seen, c.gone = map[string]newest{}, nil
	}
	c.seen[by] = last.see(namespace, now)
	return !isKnown
}

// missed notes that the installation of Plimsoll that wrote the object did not write what it would have. It has acted
// on all of its objects or on none.
func (c *Cluster) missed(o *Object, now time.Time) {
	by := o.last.By
	if !isInstallation(by) {
		return
	}
	if c.gone == nil {
		c.gone = map[string]newest{}
	}
	c.gone[by] = c.gone[by].see(o.Namespace, now)
}

// isGone reports whether the installation of Plimsoll that wrote the object has missed one, and has written none since.
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
