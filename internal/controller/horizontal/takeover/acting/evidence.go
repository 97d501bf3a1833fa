package acting

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// enoughToBegin is how many namespaces have to show something before it counts for others.
const enoughToBegin = 2

// newest is when something was last seen in some namespace, and when in any other one.
type newest struct {
	namespace     string
	at, elsewhere time.Time
}

// see notes that it was seen in a namespace.
func (n newest) see(namespace string, at time.Time) newest {
	switch {
	case n.namespace == namespace || n.at.IsZero():
		n.namespace, n.at = namespace, timing.Later(n.at, at)
	case at.After(n.at):
		n = newest{namespace: namespace, at: at, elsewhere: n.at}
	default:
		n.elsewhere = timing.Later(n.elsewhere, at)
	}
	return n
}

// in is when it was last seen as far as that counts for this namespace: there, or in two others.
func (n newest) in(namespace string) time.Time {
	if n.namespace == namespace {
		return n.at
	}
	return n.elsewhere
}

// evidence is that of a namespace: how many HPAs are acted on, and since when there is some that is newer than the last
// write of another controller.
type evidence struct {
	namespace string
	acting    int
	since     time.Time
}

// evidences are those of all namespaces.
type evidences struct {
	byNamespace map[string]*evidence
	// oldest has them by when they began, so that finding two needs no search through the namespaces.
	oldest []*evidence
}

// add adds one HPA that is acted on from now on; another controller was last seen at a time.
func (all *evidences) add(namespace string, now, contested time.Time) {
	e := all.byNamespace[namespace]
	if e == nil {
		e = &evidence{namespace: namespace}
		if all.byNamespace == nil {
			all.byNamespace = map[string]*evidence{}
		}
		all.byNamespace[namespace] = e
	}
	if e.acting == 0 || !e.since.After(contested) {
		if e.acting > 0 {
			all.leave(e)
		}
		e.since = now
		all.oldest = slices.Insert(all.oldest, all.after(now), e)
	}
	e.acting++
}

// remove takes one away that was added.
func (all *evidences) remove(namespace string) {
	e := all.byNamespace[namespace]
	if e.acting--; e.acting == 0 {
		delete(all.byNamespace, namespace)
		all.leave(e)
	}
}

func (all *evidences) leave(e *evidence) {
	if i := slices.Index(all.oldest, e); i >= 0 {
		all.oldest = slices.Delete(all.oldest, i, i+1)
	}
}

// after is where those begin that are newer than a time.
func (all *evidences) after(at time.Time) int {
	i, _ := slices.BinarySearchFunc(all.oldest, at, func(e *evidence, at time.Time) int {
		if e.since.After(at) {
			return 1
		}
		return -1
	})
	return i
}

// isAlone reports whether this installation acts on HPAs, and no other controller has written any for
// the delay. If this installation wrote last before the start, that has been so all along. What it has
// acted on since before another controller wrote proves nothing: that one may have had nothing to write.
func (c *Cluster) isAlone(namespace string, now time.Time) bool {
	wroteLast := c.contested.in(namespace).IsZero() && c.own.in(namespace).After(c.other.in(namespace))
	enough := max(enoughToBegin, (len(c.objects)+namespacesPart-1)/namespacesPart)
	return wroteLast && c.hasEvidence(namespace, now, 0, enough) || c.hasEvidence(namespace, now, c.Delay, enough)
}

// hasEvidence reports whether this installation has begun to act on an HPA so long ago, and since another controller
// was last seen to write any: on one of this namespace, or on some of enough others. It is asked for each HPA that is
// undecided, and needs no walk over the namespaces.
func (c *Cluster) hasEvidence(namespace string, now time.Time, ago time.Duration, enough int) bool {
	contested := c.contested.in(namespace)
	if e := c.evidence.byNamespace[namespace]; e != nil && e.since.After(contested) && now.Sub(e.since) >= ago {
		return true
	}
	// This namespace is none of them, or it would have been enough.
	return c.evidence.after(now.Add(-ago))-c.evidence.after(contested) >= enough
}
