package acting

import "time"

// newest is when something was last seen in some namespace, and when in any other one.
type newest struct {
	namespace     string
	at, elsewhere time.Time
}

// see notes that it was seen in a namespace.
func (n newest) see(namespace string, at time.Time) newest {
	switch {
	case n.namespace == namespace || n.at.IsZero():
		n.namespace, n.at = namespace, later(n.at, at)
	case at.After(n.at):
		n = newest{namespace: namespace, at: at, elsewhere: n.at}
	default:
		n.elsewhere = later(n.elsewhere, at)
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
	acting int
	since  time.Time
}

// isAlone reports whether this installation acts on HPAs, and no other controller has written any for
// the delay. If this installation wrote last before the start, that has been so all along. What it has
// acted on since before another controller wrote proves nothing: that one may have had nothing to write.
func (c *Cluster) isAlone(namespace string, now time.Time) bool {
	wroteLast := c.contested.in(namespace).IsZero() && c.own.in(namespace).After(c.other.in(namespace))
	return wroteLast && c.hasEvidence(namespace, now, 0) || c.hasEvidence(namespace, now, c.Delay)
}

// hasEvidence reports whether this installation has begun to act on an HPA so long ago, and since another controller
// was last seen to write any: on one of this namespace, or on some of two others.
func (c *Cluster) hasEvidence(namespace string, now time.Time, ago time.Duration) bool {
	contested, others := c.contested.in(namespace), 0
	for name, e := range c.evidence {
		if !e.since.After(contested) || now.Sub(e.since) < ago {
			continue
		}
		if others++; name == namespace || others > 1 {
			return true
		}
	}
	return false
}
