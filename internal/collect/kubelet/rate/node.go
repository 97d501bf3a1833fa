package rate

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

type podKey struct{ namespace, name string }

// container is one container of a pod. It is kept small: there are many.
type container struct {
	cpu podload.Series
	// arrivedMillis is when the newest point arrived, by the node's local clock.
	arrivedMillis int64
	// labels are as they stand in the text; name is a part of them.
	labels, name string
	// next is another container of the pod.
	next *container

	// startMillis and memoryBytes are 0 if they are missing; memoryBytes each time that a round lacks it.
	startMillis, memoryBytes int64
	// memory is the recent peak of it.
	memory peak
	// seen is the last round with the container; mark is the last attempt that had it in the text, and slot its index in
	// that attempt.
	seen, mark, slot uint32
	// refused has the impossible values of the newest round.
	refused Refused
}

// node holds the containers of one kubelet.
type node struct {
	// mu guards all of it.
	mu   sync.Mutex
	pods map[podKey]*container
	// order has the containers in the order of the newest round.
	order []*container
	known int

	// attempt counts texts, also those that could not be parsed; round and before are the attempts of the newest round and
	// the one before it.
	attempt, round, before uint32
	// arrivedMillis is the arrival of the newest round.
	arrivedMillis int64

	// began is the first arrival. Later times are measured with the monotonic clock: setting this machine's clock changes
	// nothing.
	began time.Time
}

// localLocked is a time in milliseconds since the node's first arrival.
func (n *node) localLocked(t time.Time) int64 {
	if n.began.IsZero() {
		n.began = t
	}
	return t.Sub(n.began).Milliseconds()
}

func (n *node) findLocked(s subject) *container {
	c := n.pods[podKey{namespace: string(s.namespace), name: string(s.pod)}]
	for c != nil && c.name != string(s.container) {
		c = c.next
	}
	return c
}

// insertLocked adds a container that the node does not have yet.
func (n *node) insertLocked(c *container, key podKey) {
	c.next = n.pods[key]
	n.pods[key] = c
	n.known++
}

// sweepLocked removes the containers for which keep is false.
func (n *node) sweepLocked(keep func(*container) bool) (gone int) {
	for key, first := range n.pods {
		kept := filter(first, keep, &gone)
		switch {
		case kept == nil:
			delete(n.pods, key)
		case kept != first:
			n.pods[key] = kept
		}
	}
	n.known -= gone
	return gone
}

// filter removes the containers for which keep is false from the list.
func filter(first *container, keep func(*container) bool, gone *int) *container {
	link := &first
	for *link != nil {
		if keep(*link) {
			link = &(*link).next
			continue
		}
		*link = (*link).next
		*gone++
	}
	return first
}
