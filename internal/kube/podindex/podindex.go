// Package podindex keeps the pods of each autoscaled target together, and knows
// which pods belong to more than one, and on which nodes they are. A pod is
// matched against selectors when its labels or a selector change, not at each
// decision: reading the pods of a target costs what those pods cost, however many
// others the namespace has.
package podindex

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Index is the pods by the objects whose targets they belong to.
type Index struct {
	// mu guards all that follows and is reachable from it.
	mu         sync.Mutex
	namespaces map[string]*namespace
	// nodes are those with pods of followed groups.
	nodes map[string]map[*group]struct{}

	// moved has an element when nodes has gained or lost one.
	moved chan struct{}
}

// namespace is one namespace's pods and groups.
type namespace struct {
	pods   map[string]*member
	groups map[string]*group
	// pinned finds groups by a label that their selector demands; unpinned holds
	// those that demand none.
	pinned   map[label]map[*group]struct{}
	unpinned map[*group]struct{}
}

type label struct{ key, value string }

// member is a pod and the groups that it is in.
type member struct {
	pod    *corev1.Pod
	groups []*group
	// node is where the pod runs, or will; empty when it does not.
	node string
}

// group is the pods that one object's selector selects.
type group struct {
	index    *Index
	object   types.NamespacedName
	text     string
	selector labels.Selector
	pin      *label
	pods     map[string]*member
	// shared counts the pods that are in other groups too.
	shared int
	// sorted is pods in the order of their names; nil when it has to be renewed.
	sorted []*member
	// nodes counts the pods on each node; nil while the group is not followed.
	nodes map[string]int
}

// New is an index without pods.
func New() *Index {
	return &Index{
		namespaces: map[string]*namespace{}, nodes: map[string]map[*group]struct{}{}, moved: make(chan struct{}, 1),
	}
}

// Handler feeds the index from an informer, and tells changed of the objects with
// pods that a decision would now see otherwise; changed may be nil.
func (x *Index) Handler(changed func([]types.NamespacedName)) cache.ResourceEventHandler {
	tell := func(objects []types.NamespacedName) {
		if changed != nil && len(objects) > 0 {
			changed(objects)
		}
	}
	put := func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			tell(x.Put(pod))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				tell(x.Remove(pod.Namespace, pod.Name))
			}
		},
	}
}

// Put adds or replaces a pod. The pod is kept and must not be changed. It returns
// the objects whose pods are now others, or in another state.
func (x *Index) Put(pod *corev1.Pod) []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(pod.Namespace)
	m, known := ns.pods[pod.Name]
	if known && maps.Equal(m.pod.Labels, pod.Labels) {
		matters := differs(m.pod, pod)
		m.pod = pod
		m.settle()
		if !matters {
			return nil
		}
		return m.objects(nil)
	}
	var changed []types.NamespacedName
	if known {
		changed = m.objects(nil)
		m.leaveAll()
		m.pod, m.node = pod, nodeOf(pod)
	} else {
		m = &member{pod: pod, node: nodeOf(pod)}
		ns.pods[pod.Name] = m
	}
	for g := range ns.candidates(pod) {
		if g.selector.Matches(labels.Set(pod.Labels)) {
			m.join(g)
		}
	}
	return m.objects(changed)
}

// Remove forgets a pod, and returns the objects that it belonged to.
func (x *Index) Remove(namespace, name string) []types.NamespacedName {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(namespace)
	var changed []types.NamespacedName
	if m, known := ns.pods[name]; known {
		changed = m.objects(nil)
		m.leaveAll()
		delete(ns.pods, name)
	}
	x.tidy(namespace)
	return changed
}

// SetSelector says which pods belong to the object. The same selector again
// costs nothing.
func (x *Index) SetSelector(object types.NamespacedName, selector labels.Selector) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, text := x.namespace(object.Namespace), selector.String()
	g := &group{index: x, object: object, text: text, selector: selector, pin: pinOf(selector), pods: map[string]*member{}}
	if old, known := ns.groups[object.Name]; known {
		if old.text == text && old.selector.Empty() == selector.Empty() {
			return
		}
		ns.drop(old)
		if old.nodes != nil {
			g.nodes = map[string]int{}
		}
	}
	ns.add(g)
	for _, m := range ns.pods {
		if selector.Matches(labels.Set(m.pod.Labels)) {
			m.join(g)
		}
	}
}

// Delete forgets an object.
func (x *Index) Delete(object types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(object.Namespace)
	if g, known := ns.groups[object.Name]; known {
		ns.drop(g)
	}
	x.tidy(object.Namespace)
}

// Pods are the pods that belong to the object, in the order of their names. The
// slice is the caller's, the pods are not.
func (x *Index) Pods(object types.NamespacedName) []*corev1.Pod { return x.AppendPods(nil, object) }

// AppendPods is Pods into a buffer of the caller's.
func (x *Index) AppendPods(dst []*corev1.Pod, object types.NamespacedName) []*corev1.Pod {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, known := x.namespaces[object.Namespace]
	if !known || ns.groups[object.Name] == nil {
		return dst
	}
	members := ns.groups[object.Name].members()
	dst = slices.Grow(dst, len(members))
	for _, m := range members {
		dst = append(dst, m.pod)
	}
	return dst
}

// Overlap names the object and one other that has pods in common with it, in
// upstream's way of printing them; empty when there is no other.
func (x *Index) Overlap(object types.NamespacedName) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, known := x.namespaces[object.Namespace]
	if !known || ns.groups[object.Name] == nil || ns.groups[object.Name].shared == 0 {
		return ""
	}
	g := ns.groups[object.Name]
	// The first name of all, so that the text does not change from one decision
	// to the next.
	other := ""
	for _, m := range g.pods {
		for _, o := range m.groups {
			if o != g && (other == "" || o.object.Name < other) {
				other = o.object.Name
			}
		}
	}
	return fmt.Sprintf("[%s/%s %s/%s]", object.Namespace, min(object.Name, other), object.Namespace, max(object.Name, other))
}

func (x *Index) namespace(name string) *namespace {
	ns, known := x.namespaces[name]
	if !known {
		ns = &namespace{
			pods: map[string]*member{}, groups: map[string]*group{},
			pinned: map[label]map[*group]struct{}{}, unpinned: map[*group]struct{}{},
		}
		x.namespaces[name] = ns
	}
	return ns
}

func (x *Index) tidy(name string) {
	if ns := x.namespaces[name]; len(ns.pods) == 0 && len(ns.groups) == 0 {
		delete(x.namespaces, name)
	}
}

func (ns *namespace) add(g *group) {
	ns.groups[g.object.Name] = g
	if g.pin == nil {
		ns.unpinned[g] = struct{}{}
		return
	}
	if ns.pinned[*g.pin] == nil {
		ns.pinned[*g.pin] = map[*group]struct{}{}
	}
	ns.pinned[*g.pin][g] = struct{}{}
}

func (ns *namespace) drop(g *group) {
	for _, m := range g.pods {
		m.leave(g)
	}
	delete(ns.groups, g.object.Name)
	delete(ns.unpinned, g)
	if g.pin != nil {
		delete(ns.pinned[*g.pin], g)
		if len(ns.pinned[*g.pin]) == 0 {
			delete(ns.pinned, *g.pin)
		}
	}
}

// candidates yields every group whose selector may select the pod, each once.
func (ns *namespace) candidates(pod *corev1.Pod) func(yield func(*group) bool) {
	return func(yield func(*group) bool) {
		for g := range ns.unpinned {
			if !yield(g) {
				return
			}
		}
		for key, value := range pod.Labels {
			for g := range ns.pinned[label{key, value}] {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// pinOf is a label that every pod of the selector has; nil if it demands none.
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

func (m *member) join(g *group) {
	m.groups = append(m.groups, g)
	g.pods[m.pod.Name] = m
	g.sorted = nil
	m.count(g, 1)
	g.place(m.node, 1)
}

func (m *member) leave(g *group) {
	m.count(g, -1)
	g.place(m.node, -1)
	delete(g.pods, m.pod.Name)
	g.sorted = nil
	m.groups = slices.DeleteFunc(m.groups, func(o *group) bool { return o == g })
}

func (m *member) leaveAll() {
	for len(m.groups) > 0 {
		m.leave(m.groups[0])
	}
}

// count adds to the counters of shared pods while m is in g: to both groups' at
// the step between one and two, to g's alone beyond it.
func (m *member) count(g *group, change int) {
	switch {
	case len(m.groups) == 2:
		m.groups[0].shared += change
		m.groups[1].shared += change
	case len(m.groups) > 2:
		g.shared += change
	}
}

func (g *group) members() []*member {
	if g.sorted == nil {
		g.sorted = slices.SortedFunc(maps.Values(g.pods), func(a, b *member) int {
			return strings.Compare(a.pod.Name, b.pod.Name)
		})
	}
	return g.sorted
}
