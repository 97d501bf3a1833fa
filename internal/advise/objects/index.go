package objects

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// reference names an object.
type reference struct{ namespace, group, kind, name string }

// referenceTo names an object by its kind in lower case: API servers know kinds so too.
func referenceTo(namespace, version, kind, name string) reference {
	return reference{namespace, observe.GroupKey(version), observe.KindKey(kind), name}
}

// ResourceKey is equal for two references to the same kind, by whatever version and spelling.
func ResourceKey(version, kind string) string {
	return observe.GroupKey(version) + "/" + observe.KindKey(kind)
}

// IsBuiltIn reports whether the workloads of an API version are Kubernetes' own.
func IsBuiltIn(version string) bool { return observe.GroupKey(version) == "" }

// label is one of an object in a namespace.
type label struct{ namespace, key, value string }

// index finds references without a search of all objects. It is built when it is first
// used, and again when there are more objects.
type index struct {
	size        sizes
	targets     map[reference]*Workload
	named       map[string][]*Workload
	horizontals map[*Workload][]*Horizontal
	verticals   map[*Workload][]*Vertical
	// sizers are the VPAs that refer to something, whether it is here or not.
	sizers     map[reference][]*Vertical
	workloads  labelled[*Workload]
	pods       labelled[*Running]
	budgets    map[*Workload][]*Budget
	covered    map[*Budget][]*Workload
	own        map[*Workload][]*Running
	ranges     map[string][]*Range
	daemonSets []*Workload
}

// sizes are how many objects an index was made of.
type sizes struct{ horizontals, verticals, workloads, budgets, pods, ranges int }

func (c *Collection) sizes() sizes {
	return sizes{len(c.Horizontals), len(c.Verticals), len(c.Workloads), len(c.Budgets), len(c.Pods), len(c.Ranges)}
}

func (c *Collection) indexed() *index {
	if c.index != nil && c.index.size == c.sizes() {
		return c.index
	}
	x := &index{
		size: c.sizes(), targets: map[reference]*Workload{}, named: map[string][]*Workload{},
		horizontals: map[*Workload][]*Horizontal{}, verticals: map[*Workload][]*Vertical{},
		sizers:  map[reference][]*Vertical{},
		budgets: map[*Workload][]*Budget{}, covered: map[*Budget][]*Workload{},
		own: map[*Workload][]*Running{}, ranges: map[string][]*Range{},
	}
	c.index = x
	for _, w := range c.Workloads {
		ref := referenceTo(w.Namespace, w.APIVersion, w.Kind, w.Name)
		if x.targets[ref] == nil {
			x.targets[ref] = w
		}
	}
	for _, w := range c.Workloads {
		x.borrow(w)
		x.named[w.Name] = append(x.named[w.Name], w)
		x.workloads.add(w.Namespace, w.Template.Labels, w)
		if w.Kind == DaemonSet {
			x.daemonSets = append(x.daemonSets, w)
		}
	}
	for _, r := range c.Ranges {
		x.ranges[r.Namespace] = append(x.ranges[r.Namespace], r)
	}
	x.addAutoscalers(c)
	x.addBudgets(c)
	for _, p := range c.Pods {
		x.pods.add(p.Namespace, p.Meta.Labels, p)
		if w := c.Owner(p); w != nil {
			x.own[w] = append(x.own[w], p)
		}
	}
	return x
}

// borrow gives a workload the template and the selector of the one that it names, as a Rollout may.
func (x *index) borrow(w *Workload) {
	if w.from == nil {
		return
	}
	from := x.targets[referenceTo(w.Namespace, w.from.APIVersion, w.from.Kind, w.from.Name)]
	if from == nil || from.from != nil {
		return
	}
	w.Template, w.TemplateField, w.TemplateObject = from.Template, from.TemplateField, &from.Object
	if w.Selector == nil {
		w.Selector = from.Selector
	}
}

// resolve is the workload that an object refers to; nil if it is not here. A manifest without a namespace is of
// the one that it is applied to, which another manifest may name: they belong together if no other workload fits.
func (x *index) resolve(from *Object, version, kind, name string) *Workload {
	to := referenceTo(from.Namespace, version, kind, name)
	if w := x.targets[to]; w != nil {
		return w
	}
	var found *Workload
	for _, w := range x.named[name] {
		to.namespace = w.Namespace
		if referenceTo(w.Namespace, w.APIVersion, w.Kind, name) != to || !mayBeTogether(&w.Object, from) {
			continue
		}
		if found != nil {
			return nil
		}
		found = w
	}
	return found
}

// mayBeTogether reports whether two objects of different namespaces may be applied to one: one of them names none.
func mayBeTogether(a, b *Object) bool {
	return (a.hasNoNamespace || b.hasNoNamespace) && a.Place.File != "" && b.Place.File != ""
}

// IsAnywhere reports whether the manifest names no namespace: it may be applied to any.
func (o *Object) IsAnywhere() bool { return o.hasNoNamespace }

func (x *index) addAutoscalers(c *Collection) {
	for _, h := range c.Horizontals {
		ref := &h.Spec.ScaleTargetRef
		if w := x.resolve(&h.Object, ref.APIVersion, ref.Kind, ref.Name); w != nil {
			x.horizontals[w] = append(x.horizontals[w], h)
		}
	}
	for _, v := range c.Verticals {
		ref := v.Spec.TargetRef
		if ref == nil {
			continue
		}
		at := referenceTo(v.Namespace, ref.APIVersion, ref.Kind, ref.Name)
		x.sizers[at] = append(x.sizers[at], v)
		if w := x.resolve(&v.Object, ref.APIVersion, ref.Kind, ref.Name); w != nil {
			x.verticals[w] = append(x.verticals[w], v)
		}
	}
}

// addBudgets finds the workloads of each budget; a workload's budgets keep their order. As with targets, a budget and a
// workload of which one names no namespace belong together if the budget is for none of its own.
func (x *index) addBudgets(c *Collection) {
	for _, b := range c.Budgets {
		for _, w := range x.workloads.candidates(b.Namespace, b.Selector) {
			x.cover(c, b, w)
		}
		if len(x.covered[b]) == 0 && b.Place.File != "" {
			x.coverElsewhere(c, b)
		}
	}
}

// coverElsewhere finds the workloads of a budget in other namespaces.
func (x *index) coverElsewhere(c *Collection, b *Budget) {
	namespaces := []string{metav1.NamespaceDefault} // of those that name none
	if b.hasNoNamespace {
		namespaces = slices.Sorted(maps.Keys(x.workloads.all))
	}
	for _, namespace := range namespaces {
		for _, w := range x.workloads.candidates(namespace, b.Selector) {
			if mayBeTogether(&w.Object, &b.Object) {
				x.cover(c, b, w)
			}
		}
	}
}

func (x *index) cover(c *Collection, b *Budget, w *Workload) {
	c.compared()
	if b.Selector.Matches(labels.Set(w.Template.Labels)) {
		x.covered[b] = append(x.covered[b], w)
		x.budgets[w] = append(x.budgets[w], b)
	}
}

// labelled finds objects by a label that a selector requires.
type labelled[T any] struct {
	all map[string][]T
	by  map[label][]T
}

func (l *labelled[T]) add(namespace string, set map[string]string, object T) {
	if l.all == nil {
		l.all, l.by = map[string][]T{}, map[label][]T{}
	}
	l.all[namespace] = append(l.all[namespace], object)
	for key, value := range set {
		at := label{namespace, key, value}
		l.by[at] = append(l.by[at], object)
	}
}

// candidates are those that the selector may match: those with the rarest label that it
// requires, or all of the namespace if it requires none.
func (l *labelled[T]) candidates(namespace string, selector labels.Selector) []T {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	fewest := l.all[namespace]
	for i := range requirements {
		r := &requirements[i]
		values := r.Values()
		if isOne := slices.Contains([]selection.Operator{selection.In, selection.Equals, selection.DoubleEquals},
			r.Operator()); !isOne || len(values) != 1 {
			continue
		}
		value, _ := values.PopAny()
		if some := l.by[label{namespace, r.Key(), value}]; len(some) < len(fewest) {
			fewest = some
		}
	}
	return fewest
}

// compared counts the comparisons of objects with objects, for tests.
func (c *Collection) compared() { c.comparisons++ }

// Named are the workloads of a name, whatever their kind and namespace.
func (c *Collection) Named(name string) []*Workload { return c.indexed().named[name] }

// DaemonSets are those among the workloads.
func (c *Collection) DaemonSets() []*Workload { return c.indexed().daemonSets }

// VerticalsOn are the VPAs that refer to the workload that an HPA refers to, whether it
// is here or not.
func (c *Collection) VerticalsOn(h *Horizontal) []*Vertical {
	to := &h.Spec.ScaleTargetRef
	return c.indexed().sizers[referenceTo(h.Namespace, to.APIVersion, to.Kind, to.Name)]
}

// Covered are the workloads whose pods a PodDisruptionBudget selects.
func (c *Collection) Covered(b *Budget) []*Workload { return c.indexed().covered[b] }

// Selected are the workloads, and the pods without an owner, that a workload's selector matches.
func (c *Collection) Selected(w *Workload) (workloads []*Workload, pods []*Running) {
	x := c.indexed()
	for _, o := range x.workloads.candidates(w.Namespace, w.Selector) {
		c.compared()
		if w.Selector.Matches(labels.Set(o.Template.Labels)) {
			workloads = append(workloads, o)
		}
	}
	for _, p := range x.pods.candidates(w.Namespace, w.Selector) {
		c.compared()
		if w.Selector.Matches(labels.Set(p.Meta.Labels)) {
			pods = append(pods, p)
		}
	}
	return workloads, pods
}
