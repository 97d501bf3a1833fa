package podindex

import (
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Objects read metrics of pods that are not of their targets, such as a gateway's. The pods of a selector are one
// group, however many objects of the namespace read them.

// SetOthers sets the selectors of further pods that the object reads; none ends that. Repeating a call costs next to
// nothing. The object is reported as changed when one of these pods changes.
func (x *Index) SetOthers(object observe.Key, selectors []*Selector) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespaces[object.Namespace]
	if ns == nil && len(selectors) == 0 || ns != nil && slices.EqualFunc(ns.reads[object], selectors, (*Selector).equals) {
		return
	}
	ns = x.namespaceLocked(object.Namespace)
	before := ns.reads[object]
	for _, selector := range selectors {
		x.othersLocked(ns, selector).addReader(object)
	}
	for _, selector := range before {
		ns.dropReader(selector, object)
	}
	if len(selectors) > 0 {
		ns.reads[object] = slices.Clone(selectors)
	} else {
		delete(ns.reads, object)
	}
	x.tidyLocked(object.Namespace)
}

// AppendOthers appends the pods of one of the object's SetOthers, in the order of their names.
func (x *Index) AppendOthers(dst []*observe.Pod, namespace string, selector *Selector) []*observe.Pod {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespaces[namespace]
	if ns == nil || ns.others[selector.text] == nil {
		return dst
	}
	return ns.others[selector.text].appendPods(dst)
}

// othersLocked returns the group of a selector.
func (x *Index) othersLocked(ns *namespace, selector *Selector) *group {
	g := ns.others[selector.text]
	if g != nil {
		return g
	}
	g = &group{index: x, selector: selector, isPassive: true, isOthers: true}
	ns.others[selector.text] = g
	ns.link(g)
	// In the order of the group's pods, each of which then comes behind those that are there.
	for _, name := range slices.Sorted(maps.Keys(ns.pods)) {
		ns.offer(g, ns.pods[name])
	}
	return g
}

// addReader adds an object, as often as it has metrics of these pods.
func (g *group) addReader(object observe.Key) { g.readers = append(g.readers, object) }

func (ns *namespace) dropReader(selector *Selector, object observe.Key) {
	g := ns.others[selector.text]
	if i := slices.Index(g.readers, object); i >= 0 {
		g.readers = slices.Delete(g.readers, i, i+1)
	}
	if len(g.readers) == 0 {
		delete(ns.others, selector.text)
		ns.unlink(g)
	}
}

// dropReads forgets the selectors of an object.
func (ns *namespace) dropReads(object observe.Key) {
	for _, selector := range ns.reads[object] {
		ns.dropReader(selector, object)
	}
	delete(ns.reads, object)
}
