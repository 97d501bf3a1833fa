package podindex

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Seat is an object with pods on a node.
type Seat struct {
	Object types.NamespacedName
	// Nodes is on how many nodes the object has pods.
	Nodes int
}

// Follow says whether the nodes of the object's pods are of interest. It does
// nothing before the object's first selector.
func (x *Index) Follow(object types.NamespacedName, yes bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, known := x.namespaces[object.Namespace]
	if !known || ns.groups[object.Name] == nil {
		return
	}
	g := ns.groups[object.Name]
	if yes == (g.nodes != nil) {
		return
	}
	if yes {
		g.nodes = map[string]int{}
		for _, m := range g.pods {
			g.place(m.node, 1)
		}
		return
	}
	for name := range g.nodes {
		x.vacate(name, g)
	}
	g.nodes = nil
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
func (x *Index) On(node string, dst []Seat) []Seat {
	x.mu.Lock()
	defer x.mu.Unlock()
	for g := range x.nodes[node] {
		dst = append(dst, Seat{Object: g.object, Nodes: len(g.nodes)})
	}
	return dst
}

// NodesOf appends the nodes of a followed object's pods, in no order.
func (x *Index) NodesOf(object types.NamespacedName, dst []string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, known := x.namespaces[object.Namespace]
	if !known || ns.groups[object.Name] == nil {
		return dst
	}
	for name := range ns.groups[object.Name].nodes {
		dst = append(dst, name)
	}
	return dst
}

// place counts a pod in or out on a node.
func (g *group) place(node string, change int) {
	if g.nodes == nil || node == "" {
		return
	}
	n := g.nodes[node] + change
	switch n {
	case 0:
		delete(g.nodes, node)
		g.index.vacate(node, g)
		return
	case change:
		g.index.occupy(node, g)
	}
	g.nodes[node] = n
}

func (x *Index) occupy(node string, g *group) {
	groups := x.nodes[node]
	if groups == nil {
		groups = map[*group]struct{}{}
		x.nodes[node] = groups
		x.tellMoved()
	}
	groups[g] = struct{}{}
}

func (x *Index) vacate(node string, g *group) {
	delete(x.nodes[node], g)
	if len(x.nodes[node]) == 0 {
		delete(x.nodes, node)
		x.tellMoved()
	}
}

func (x *Index) tellMoved() {
	select {
	case x.moved <- struct{}{}:
	default:
	}
}

// settle moves the pod's count to the node that it is on now.
func (m *member) settle() {
	node := nodeOf(m.pod)
	if node == m.node {
		return
	}
	for _, g := range m.groups {
		g.place(m.node, -1)
		g.place(node, 1)
	}
	m.node = node
}

// objects appends those whose pod this is, each once.
func (m *member) objects(dst []types.NamespacedName) []types.NamespacedName {
	before := len(dst)
	for _, g := range m.groups {
		known := false
		for _, object := range dst[:before] {
			known = known || object == g.object
		}
		if !known {
			dst = append(dst, g.object)
		}
	}
	return dst
}

// nodeOf is where the pod's containers run, or will.
func nodeOf(pod *corev1.Pod) string {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ""
	}
	return pod.Spec.NodeName
}

// differs reports whether a decision would see the pod otherwise than before.
func differs(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Status.Phase != after.Status.Phase ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) || readiness(before) != readiness(after)
}

func readiness(pod *corev1.Pod) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status
		}
	}
	return ""
}
