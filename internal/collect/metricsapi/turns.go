package metricsapi

import "container/list"

// turns is a queue in which namespaces take turns, in each namespace its objects, and
// the calls of an object go in order. The zero value is empty.
type turns struct {
	root    branch
	waiting int
}

// branch is the whole queue, a namespace or an object.
type branch struct {
	parent *branch
	key    string
	place  *list.Element
	// waiting holds the branches below, or an object's slots: the next one first.
	waiting list.List
	below   map[string]*branch
}

// turn is the place of a slot in the queue.
type turn struct {
	of     *turns
	object *branch
	place  *list.Element
}

// add puts a slot at the end of its object's.
func (t *turns) add(s *slot) *turn {
	object := t.root.sub(s.object.Namespace).sub(s.object.Name)
	t.waiting++
	return &turn{of: t, object: object, place: object.waiting.PushBack(s)}
}

// next takes out the slot whose turn it is; nil if none waits.
func (t *turns) next() *slot {
	at := &t.root
	for first := at.waiting.Front(); first != nil; first = at.waiting.Front() {
		switch value := first.Value.(type) {
		case *branch:
			at.waiting.MoveToBack(first)
			at = value
		case *slot:
			value.turn.leave()
			return value
		}
	}
	return nil
}

// leave takes a slot out of the queue.
func (t *turn) leave() {
	t.of.waiting--
	t.object.waiting.Remove(t.place)
	for at := t.object; at.parent != nil && at.waiting.Len() == 0; at = at.parent {
		at.parent.waiting.Remove(at.place)
		delete(at.parent.below, at.key)
	}
}

// sub is the branch of a key. A new one comes last.
func (b *branch) sub(key string) *branch {
	if known, isKnown := b.below[key]; isKnown {
		return known
	}
	if b.below == nil {
		b.below = map[string]*branch{}
	}
	added := &branch{parent: b, key: key}
	added.place = b.waiting.PushBack(added)
	b.below[key] = added
	return added
}
