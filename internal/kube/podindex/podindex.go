// Package podindex indexes pods by autoscaled target and by node, and finds pods that belong to more than one target. A
// pod is matched against selectors when its labels, its owner or a selector change, not at every decision: reading the
// pods of a target costs the same however many others the namespace has.
package podindex

import (
	"fmt"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Index indexes the pods by the objects to whose targets they belong.
type Index struct {
	// mu guards all that follows and is reachable from it.
	mu         sync.Mutex
	namespaces map[string]*namespace
	// nodes has the nodes with pods of followed groups.
	nodes map[string]*node

	// moved has an element when nodes has gained or lost one.
	moved chan struct{}

	owners Owners
}

// New makes an index without pods. Its selectors select by labels alone.
func New() *Index {
	return &Index{namespaces: map[string]*namespace{}, nodes: map[string]*node{}, moved: make(chan struct{}, 1)}
}

// NewOwned makes an index whose selectors may select by owner too.
func NewOwned(owners Owners) *Index {
	x := New()
	x.owners = owners
	return x
}

// Handler feeds the index from a cache of pods, and calls changed with the objects whose pods a decision would now
// observe differently; changed may be nil.
func (x *Index) Handler(changed func([]observe.Key)) podcache.Handler[*observe.Pod] {
	report := func(objects []observe.Key) {
		if changed != nil && len(objects) > 0 {
			changed(objects)
		}
	}
	return podcache.Handler[*observe.Pod]{
		Add:    func(pod *observe.Pod, _ bool) { report(x.Put(pod)) },
		Delete: func(pod *observe.Pod) { report(x.Remove(pod.Namespace(), pod.Name)) },
	}
}

// Put adds or replaces a pod. It returns the objects whose pods have changed, or their state.
func (x *Index) Put(pod *observe.Pod) []observe.Key {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespaceLocked(pod.Namespace())
	m, ok := ns.pods[pod.Name]
	if ok && m.pod.Labels() == pod.Labels() && m.pod.HasSameController(pod) {
		matters := differs(m.pod, pod)
		m.replace(pod)
		if !matters {
			return nil
		}
		return m.objects()
	}
	var changed changes
	if ok {
		changed.add(m)
		m.leaveAll()
		ns.determine(m)
		m.pod = pod
	} else {
		m = &member{pod: pod}
		ns.pods[pod.Name] = m
	}
	ns.assign(m)
	changed.add(m)
	return changed.objects()
}

// Remove forgets a pod, and returns the objects that it belonged to.
func (x *Index) Remove(namespace, name string) []observe.Key {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespaceLocked(namespace)
	var changed []observe.Key
	if m, ok := ns.pods[name]; ok {
		changed = m.objects()
		m.leaveAll()
		ns.determine(m)
		delete(ns.pods, name)
	}
	x.tidyLocked(namespace)
	return changed
}

// Claim sets the selector of the object's pods, and the follower of their nodes; nil for none. It names the object and
// one other that has pods in common with it, in upstream's format; empty without one. Repeating a claim costs next to
// nothing.
func (x *Index) Claim(object observe.Key, selector *Selector, follower any) (both string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.claimLocked(object, selector)
	g.attach(follower, false)
	return g.overlap()
}

// Watch is Claim for an object that does not act on its pods: others' claims do not find it.
func (x *Index) Watch(object observe.Key, selector *Selector, follower any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.claimLocked(object, selector).attach(follower, true)
}

// Overlap returns the result of Claim for an object that watches its pods.
func (x *Index) Overlap(object observe.Key) (both string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if g := x.groupLocked(object); g != nil {
		return g.overlap()
	}
	return ""
}

// SetSelector sets which pods belong to the object.
func (x *Index) SetSelector(object observe.Key, selector *Selector) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.claimLocked(object, selector)
}

// Delete forgets an object.
func (x *Index) Delete(object observe.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, ok := x.namespaces[object.Namespace]
	if !ok {
		return
	}
	if g, ok := ns.groups[object]; ok {
		ns.drop(g)
	}
	ns.dropReads(object)
	x.tidyLocked(object.Namespace)
}

// Pods returns the pods of the object's target in the order of their names. The caller may change the slice, but not
// the pods.
func (x *Index) Pods(object observe.Key) []*observe.Pod { return x.AppendPods(nil, object) }

// AppendPods is Pods into a buffer of the caller's.
func (x *Index) AppendPods(dst []*observe.Pod, object observe.Key) []*observe.Pod {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.groupLocked(object)
	if g == nil {
		return dst
	}
	return g.appendPods(dst)
}

// Of returns the objects to whose targets the pod belongs.
func (x *Index) Of(namespace, name string) []observe.Key {
	x.mu.Lock()
	defer x.mu.Unlock()
	if ns, ok := x.namespaces[namespace]; ok {
		if m, ok := ns.pods[name]; ok {
			return m.owners()
		}
	}
	return nil
}

func (x *Index) groupLocked(object observe.Key) *group {
	if ns, ok := x.namespaces[object.Namespace]; ok {
		return ns.groups[object]
	}
	return nil
}

// claimLocked returns the object's group, a new one for another selector.
func (x *Index) claimLocked(object observe.Key, selector *Selector) *group {
	ns := x.namespaceLocked(object.Namespace)
	old := ns.groups[object]
	if old != nil && old.selector.equals(selector) {
		return old
	}
	g := &group{index: x, object: object, selector: selector}
	if old != nil {
		ns.drop(old)
		g.isFollowed, g.follower = old.isFollowed, old.follower
	}
	ns.add(g)
	for _, m := range ns.pods {
		ns.offer(g, m)
	}
	return g
}

func (x *Index) namespaceLocked(name string) *namespace {
	ns, ok := x.namespaces[name]
	if !ok {
		ns = &namespace{
			pods: map[string]*member{}, groups: map[observe.Key]*group{}, pinned: map[label][]*group{}, owners: x.owners,
			others: map[string]*group{}, reads: map[observe.Key][]*Selector{},
		}
		x.namespaces[name] = ns
	}
	return ns
}

func (x *Index) tidyLocked(name string) {
	if ns := x.namespaces[name]; len(ns.pods)+len(ns.groups)+len(ns.reads) == 0 {
		delete(x.namespaces, name)
	}
}

// differs reports whether a decision would now observe the pod differently.
func differs(before, after *observe.Pod) bool {
	return !before.IsSame(after) || before.Phase != after.Phase || before.Deleting != after.Deleting ||
		before.Ready != after.Ready
}

// upstreamPair names two objects of a namespace in upstream's way.
func upstreamPair(namespace, a, b string) string {
	return fmt.Sprintf("[%s/%s %s/%s]", namespace, min(a, b), namespace, max(a, b))
}
