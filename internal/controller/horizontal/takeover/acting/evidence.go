package acting

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// enoughToBegin is the number of namespaces with evidence from which it counts for others.
const enoughToBegin = 2

// newest has the times of an event's last occurrence in one namespace, and in any other one.
type newest struct {
	namespace     string
	at, elsewhere time.Time
}

// with adds an occurrence in a namespace.
func (n newest) with(namespace string, at time.Time) newest {
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

// in returns the time of the last occurrence that counts for this namespace: there, or in two others.
func (n newest) in(namespace string) time.Time {
	if n.namespace == namespace {
		return n.at
	}
	return n.elsewhere
}

// evidence counts the HPAs of a namespace that this installation acts on. since is when it first acted on one after the
// last write of another controller.
type evidence struct {
	namespace string
	acting    int
	since     time.Time
}

// evidences has those of all namespaces.
type evidences struct {
	byNamespace map[string]*evidence
	// oldest has them in the order of since, so that hasEvidence need not search the namespaces.
	oldest []*evidence
}

// add adds an HPA that this installation acts on from now on; contested is the last write of another controller.
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

// after returns the index of the first one whose since is later than at.
func (all *evidences) after(at time.Time) int {
	i, _ := slices.BinarySearchFunc(all.oldest, at, func(e *evidence, at time.Time) int {
		if e.since.After(at) {
			return 1
		}
		return -1
	})
	return i
}

// isAlone reports whether this installation acts on HPAs, and no other controller has written any for the delay. If
// this installation wrote last before the start, that holds from the start. HPAs that it acted on before the last write
// of another controller prove nothing: that controller may have had nothing to write.
func (c *Cluster) isAlone(namespace string, now time.Time) bool {
	wroteLast := c.contested.in(namespace).IsZero() && c.own.in(namespace).After(c.other.in(namespace))
	enough := max(enoughToBegin, (len(c.objects)+namespacesPart-1)/namespacesPart)
	return wroteLast && c.hasEvidence(namespace, now, 0, enough) || c.hasEvidence(namespace, now, c.Delay, enough)
}

// hasEvidence reports whether this installation started to act on an HPA at least ago before now, and since the last
// write of another controller to any: on one of this namespace, or on some in enough others. Each decision on an
// undecided HPA calls it, so it does not iterate over the namespaces.
func (c *Cluster) hasEvidence(namespace string, now time.Time, ago time.Duration, enough int) bool {
	contested := c.contested.in(namespace)
	if e := c.evidence.byNamespace[namespace]; e != nil && e.since.After(contested) && now.Sub(e.since) >= ago {
		return true
	}
	// This namespace is not among them: otherwise the check above would have succeeded.
	return c.evidence.after(now.Add(-ago))-c.evidence.after(contested) >= enough
}
