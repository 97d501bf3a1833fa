package podindex

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// node is a node with pods of followed groups.
type node struct {
	name   string
	groups []*group
}

// place is a node of a group, with the number of the group's pods there.
type place struct {
	node *node
	pods int
}

// Subscription is an object with pods on a node.
type Subscription struct {
	Object observe.Key
	// Follower is the one of the object's claim; nil after Follow alone.
	Follower any
	// Nodes is the number of nodes with pods of the object.
	Nodes int
}

// Follow sets whether the nodes of the object's pods are followed. It does nothing before the object's first selector.
func (x *Index) Follow(object observe.Key, yes bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g := x.groupLocked(object); g != nil {
		g.follow(yes)
	}
}

// Nodes appends the names of all nodes with pods of followed objects, in no order.
func (x *Index) Nodes(dst []string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name := range x.nodes {
		dst = append(dst, name)
	}
	return dst
}

// Moved has an element when Nodes has changed since the last one was taken.
func (x *Index) Moved() <-chan struct{} { return x.moved }

// On appends the followed objects with pods on the node, in no order.
func (x *Index) On(name string, dst []Subscription) []Subscription {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, ok := x.nodes[name]
	if !ok {
		return dst
	}
	dst = slices.Grow(dst, len(n.groups))
	for _, g := range n.groups {
		dst = append(dst, Subscription{Object: g.object, Follower: g.follower, Nodes: len(g.places)})
	}
	return dst
}

// Followers yields the follower of each object that has one of these n pods ready on this node. A pod on another node
// is ignored: a node's samples count for its own pods alone. Yield is called under the index's lock.
func Followers(
	x *Index, node string, n int, name func(i int) (namespace, pod string), yield func(i int, follower any),
) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range n {
		namespace, pod := name(i)
		ns := x.namespaces[namespace]
		if ns == nil {
			continue
		}
		m := ns.pods[pod]
		if m == nil || !m.pod.IsReady() || m.pod.Node() != node {
			continue
		}
		for _, g := range m.groups {
			if g.follower != nil {
				yield(i, g.follower)
			}
		}
	}
}

// NodesOf appends the nodes of a followed object's pods, in no order.
func (x *Index) NodesOf(object observe.Key, dst []string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.groupLocked(object)
	if g == nil {
		return dst
	}
	for i := range g.places {
		dst = append(dst, g.places[i].node.name)
	}
	return dst
}

// follow begins or ends counting the nodes of the group's pods.
func (g *group) follow(yes bool) {
	if yes == g.isFollowed {
		return
	}
	g.isFollowed = yes
	if yes {
		for _, m := range g.pods {
			g.place(nodeOf(m.pod), 1)
		}
		return
	}
	for i := range g.places {
		g.index.vacateLocked(g.places[i].node, g)
	}
	g.places = nil
}

// place counts a pod in or out on a node.
func (g *group) place(name string, change int) {
	if !g.isFollowed || name == "" {
		return
	}
	i := slices.IndexFunc(g.places, func(p place) bool { return p.node.name == name })
	if i < 0 {
		g.places = append(g.places, place{node: g.index.occupyLocked(name, g), pods: change})
		return
	}
	if g.places[i].pods += change; g.places[i].pods == 0 {
		g.index.vacateLocked(g.places[i].node, g)
		g.places = slices.Delete(g.places, i, i+1)
	}
}

func (x *Index) occupyLocked(name string, g *group) *node {
	n := x.nodes[name]
	if n == nil {
		n = &node{name: name}
		x.nodes[name] = n
		x.notifyNodesChanged()
	}
	n.groups = append(n.groups, g)
	return n
}

func (x *Index) vacateLocked(n *node, g *group) {
	if n.groups = without(n.groups, g); len(n.groups) == 0 {
		delete(x.nodes, n.name)
		x.notifyNodesChanged()
	}
}

func (x *Index) notifyNodesChanged() {
	select {
	case x.moved <- struct{}{}:
	default:
	}
}

// nodeOf returns the node on which the pod's containers run, or will run.
func nodeOf(pod *observe.Pod) string {
	if pod.Phase == metric.PhaseSucceeded || pod.Phase == metric.PhaseFailed {
		return ""
	}
	return pod.Node()
}
