package podindex

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Selector selects pods by their labels, and optionally by their owner. It is made once and used often.
type Selector struct {
	labels.Selector
	text string
	// owner is the object that must own the pods; 0 for any or none.
	owner observe.UID
	// pin is a label that every pod of the selector has; nil if it requires none.
	pin *label
}

// SelectorOf prepares a selector.
func SelectorOf(selector labels.Selector) *Selector {
	return &Selector{Selector: selector, text: selector.String(), pin: pinOf(selector)}
}

// OwnedBy returns the selector of the pods that this object, or one of its ReplicaSets, controls.
func (s *Selector) OwnedBy(owner types.UID) *Selector {
	owned := *s
	owned.owner = observe.UIDOf(owner)
	return &owned
}

// equals reports whether the two select the same. One that selects everything has the same text as one that selects
// nothing.
func (s *Selector) equals(other *Selector) bool {
	return s == other || s.text == other.text && s.Empty() == other.Empty() && s.owner == other.owner
}

type label struct{ key, value string }

// pinOf returns a label that every pod of the selector has; nil if it requires none.
func pinOf(selector labels.Selector) *label {
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return &label{key: r.Key(), value: values[0]}
			}
		}
	}
	return nil
}

// namespace has the pods and groups of one namespace.
type namespace struct {
	pods   map[string]*member
	groups map[observe.Key]*group
	// others has the groups of pods that objects read beside those of their targets, by the texts of their selectors, and
	// reads has the selectors of each of these objects.
	others map[string]*group
	reads  map[observe.Key][]*Selector
	// pinned finds groups by a label that their selector requires; unpinned holds those that require none.
	pinned   map[label][]*group
	unpinned []*group
	// byOwner counts the groups that select by owner too. undetermined has the pods that one of them may select: their
	// ReplicaSet is not in the cache yet.
	byOwner      int
	undetermined []*member
	owners       Owners
}

func (ns *namespace) add(g *group) {
	ns.groups[g.object] = g
	if g.selector.owner != 0 {
		ns.byOwner++
	}
	ns.link(g)
}

func (ns *namespace) drop(g *group) {
	delete(ns.groups, g.object)
	if g.selector.owner != 0 {
		ns.byOwner--
	}
	ns.unlink(g)
}

// link makes candidates find the group.
func (ns *namespace) link(g *group) {
	if pin := g.selector.pin; pin != nil {
		ns.pinned[*pin] = append(ns.pinned[*pin], g)
		return
	}
	ns.unpinned = append(ns.unpinned, g)
}

// unlink removes the group, and its pods from it.
func (ns *namespace) unlink(g *group) {
	for len(g.pods) > 0 {
		g.pods[len(g.pods)-1].leave(g)
	}
	pin := g.selector.pin
	if pin == nil {
		ns.unpinned = without(ns.unpinned, g)
		return
	}
	if ns.pinned[*pin] = without(ns.pinned[*pin], g); len(ns.pinned[*pin]) == 0 {
		delete(ns.pinned, *pin)
	}
}

// without removes the group from the list, in place.
func without(groups []*group, g *group) []*group {
	i := slices.Index(groups, g)
	if i < 0 {
		return groups
	}
	return slices.Delete(groups, i, i+1)
}

// candidates yields every group whose selector may select the pod, each once.
func (ns *namespace) candidates(pod *observe.Pod) func(yield func(*group) bool) {
	return func(yield func(*group) bool) {
		for _, g := range ns.unpinned {
			if !yield(g) {
				return
			}
		}
		for key, value := range pod.Labels().All() {
			for _, g := range ns.pinned[label{key, value}] {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// group has the pods that one object's selector selects, or, if isOthers, pods that several objects read beside those
// of their targets: readers instead of object.
type group struct {
	index    *Index
	object   observe.Key
	isOthers bool
	readers  []observe.Key
	selector *Selector
	// pods are in the order of their names.
	pods []*member
	// shared counts the pods that other objects have too; those that read them do not count.
	shared int
	// places are the nodes of the pods, as long as the group is followed.
	isFollowed bool
	follower   any
	// isPassive is true if the object does not act on its pods, so that they may also be another's.
	isPassive bool
	places    []place
}

// attach sets the follower of the group's nodes, nil for none, and whether it is passive.
func (g *group) attach(follower any, isPassive bool) {
	g.follower, g.isPassive = follower, isPassive
	g.follow(follower != nil)
}

// find returns the index of a name among the pods, or where it would be.
func (g *group) find(name string) (int, bool) {
	return slices.BinarySearchFunc(g.pods, name,
		func(m *member, name string) int { return strings.Compare(m.pod.Name, name) })
}

// overlap names the group's object and another that has pods in common with it; empty without one. A group that selects
// by owner has no others' pods.
func (g *group) overlap() string {
	if g.shared == 0 || g.selector.owner != 0 {
		return ""
	}
	// The first name of all, so that the text stays the same from one decision to the next.
	other := ""
	for _, m := range g.pods {
		for _, o := range m.groups {
			if o == g || o.isPassive {
				continue
			}
			if name := nameOf(o.object); other == "" || name < other {
				other = name
			}
		}
	}
	if other == "" {
		return ""
	}
	return upstreamPair(g.object.Namespace, nameOf(g.object), other)
}

// nameOf returns an object's name; with its kind, unless it is an HPA.
func nameOf(object observe.Key) string {
	if object.Kind == observe.HorizontalPodAutoscaler {
		return object.Name
	}
	return object.Kind.String() + "/" + object.Name
}

// member is a pod and its groups.
type member struct {
	pod    *observe.Pod
	groups []*group
}

func (m *member) join(g *group) {
	if cap(m.groups) == 0 {
		// Nearly all pods are in one group.
		m.groups = make([]*group, 0, 1)
	}
	m.groups = append(m.groups, g)
	i, _ := g.find(m.pod.Name)
	g.pods = slices.Insert(g.pods, i, m)
	m.count(g, 1)
	g.place(nodeOf(m.pod), 1)
}

func (m *member) leave(g *group) {
	m.count(g, -1)
	g.place(nodeOf(m.pod), -1)
	if i, found := g.find(m.pod.Name); found {
		g.pods = slices.Delete(g.pods, i, i+1)
	}
	m.groups = without(m.groups, g)
}

func (m *member) leaveAll() {
	for len(m.groups) > 0 {
		m.leave(m.groups[0])
	}
}

// replace takes a pod that is in the same groups.
func (m *member) replace(pod *observe.Pod) {
	before, after := nodeOf(m.pod), nodeOf(pod)
	m.pod = pod
	if before == after {
		return
	}
	for _, g := range m.groups {
		g.place(before, -1)
		g.place(after, 1)
	}
}

// count adds to the counters of shared pods while m is in g: to both groups' at the step between one and two, to g's
// alone beyond it.
func (m *member) count(g *group, change int) {
	if g.isOthers || len(m.groups) < 2 {
		return
	}
	n := 0
	for _, o := range m.groups {
		if !o.isOthers {
			n++
		}
	}
	for _, o := range m.groups {
		if !o.isOthers && (n == 2 || n > 2 && o == g) {
			o.shared += change
		}
	}
}

// appendPods appends the group's pods in the order of their names.
func (g *group) appendPods(dst []*observe.Pod) []*observe.Pod {
	dst = slices.Grow(dst, len(g.pods))
	for _, m := range g.pods {
		dst = append(dst, m.pod)
	}
	return dst
}

// objects returns the objects of the pod, and those that read it beside their targets' pods.
func (m *member) objects() []observe.Key { return (&changes{m.groups}).objects() }

// changes are groups whose pods have changed.
type changes struct{ groups []*group }

// add adds the groups of a pod, each once.
func (c *changes) add(m *member) {
	before := len(c.groups)
	for _, g := range m.groups {
		if !slices.Contains(c.groups[:before], g) {
			c.groups = append(c.groups, g)
		}
	}
}

// objects returns the objects of the groups. One that has or reads a pod in several ways may be there more than once.
func (c *changes) objects() (all []observe.Key) {
	for _, g := range c.groups {
		if g.isOthers {
			all = append(all, g.readers...)
		} else {
			all = append(all, g.object)
		}
	}
	return all
}

// owners returns the objects to whose targets the pod belongs.
func (m *member) owners() (all []observe.Key) {
	for _, g := range m.groups {
		if !g.isOthers {
			all = append(all, g.object)
		}
	}
	return all
}
