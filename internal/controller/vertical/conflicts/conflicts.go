// Package conflicts finds the horizontal and vertical autoscalers that fight over a
// workload, from caches, at the cost of those that scale this one workload.
package conflicts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// byTarget is the index by what an object scales.
const byTarget = "plimsoll.dev/target"

// Informers are the caches of the autoscalers. Workloads has WorkloadAutoscalers in the horizontal loop's form; it may
// never be filled.
type Informers struct{ Horizontals, Workloads, Verticals cache.SharedIndexInformer }

// Finder finds conflicts. It may be used by many goroutines.
type Finder struct {
	horizontals, workloads, verticals cache.Indexer
	skips                             bool
}

// New adds indexes to the informers. Skips says that the vertical side leaves alone what is
// fought over: --vertical-conflict=skip.
func New(all Informers, skips bool) (*Finder, error) {
	for _, informer := range []cache.SharedIndexInformer{all.Horizontals, all.Workloads, all.Verticals} {
		if err := informer.AddIndexers(cache.Indexers{byTarget: targetOf}); err != nil {
			return nil, fmt.Errorf("indexing autoscalers by what they scale: %w", err)
		}
	}
	return &Finder{
		horizontals: all.Horizontals.GetIndexer(), workloads: all.Workloads.GetIndexer(),
		verticals: all.Verticals.GetIndexer(), skips: skips,
	}, nil
}

func targetOf(object any) ([]string, error) {
	switch o := object.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		return []string{keyOf(observehorizontal.HPA(o))}, nil
	case *observehorizontal.Autoscaler:
		return []string{keyOf(*o)}, nil
	case *vpav1.VerticalPodAutoscaler:
		if o.Spec.TargetRef == nil {
			return nil, nil
		}
		return []string{key(o.Namespace, *o.Spec.TargetRef)}, nil
	default:
		return nil, nil
	}
}

func keyOf(a observehorizontal.Autoscaler) string {
	return key(a.Namespace, autoscalingv1.CrossVersionObjectReference(a.Target()))
}

// key leaves the version out, which references may leave out too.
func key(namespace string, to autoscalingv1.CrossVersionObjectReference) string {
	return strings.Join([]string{namespace, observe.GroupKey(to.APIVersion), observe.KindKey(to.Kind), to.Name}, "/")
}

// OfVertical finds what a vertical autoscaler fights over, in a workload with these
// containers.
func (f *Finder) OfVertical(v *vpav1.VerticalPodAutoscaler, containers []string) []conflict.Conflict {
	if v.Spec.TargetRef == nil {
		return nil
	}
	var others []conflict.Horizontal
	target := key(v.Namespace, *v.Spec.TargetRef)
	for _, object := range slices.Concat(f.at(f.horizontals, target), f.at(f.workloads, target)) {
		switch o := object.(type) {
		case *autoscalingv2.HorizontalPodAutoscaler:
			others = append(others, observevertical.HorizontalOf(observehorizontal.HPA(o)))
		case *observehorizontal.Autoscaler:
			others = append(others, observevertical.HorizontalsOf(*o)...)
		}
	}
	slices.SortFunc(others, func(a, b conflict.Horizontal) int {
		return cmp.Or(cmp.Compare(a.Name.Name, b.Name.Name), cmp.Compare(a.Name.Kind, b.Name.Kind))
	})
	return conflict.Find(verticalOf(v), others, containers)
}

// OfHorizontal says how a vertical autoscaler is in the way of this one; empty if none is.
func (f *Finder) OfHorizontal(a observehorizontal.Autoscaler) string {
	objects := f.at(f.verticals, keyOf(a))
	if len(objects) == 0 {
		return ""
	}
	h := observevertical.HorizontalOf(a)
	if len(h.Targets) == 0 {
		return ""
	}
	var said []string
	for _, object := range objects {
		v, ok := object.(*vpav1.VerticalPodAutoscaler)
		if !ok {
			continue
		}
		if found := conflict.Find(verticalOf(v), []conflict.Horizontal{h}, containersOf(v, &h)); len(found) > 0 {
			said = append(said, conflict.ForHorizontal(found, v.Name, f.skips))
		}
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

// Skips says that the vertical side leaves alone what is fought over.
func (f *Finder) Skips() bool { return f.skips }

func (*Finder) at(indexer cache.Indexer, target string) []any {
	// The index is there, and its function returns no error.
	objects, _ := indexer.ByIndex(byTarget, target)
	return objects
}

func verticalOf(v *vpav1.VerticalPodAutoscaler) *conflict.Vertical {
	return &conflict.Vertical{
		Name: v.Name, Mode: observevertical.ModeOf(&v.Spec), Policies: observevertical.PoliciesOf(&v.Spec),
	}
}

// containersOf are the containers that the two objects name: those with a
// recommendation, and those with a target of their own. Where none is named yet, any
// stands for all.
func containersOf(v *vpav1.VerticalPodAutoscaler, h *conflict.Horizontal) []string {
	var names []string
	if r := v.Status.Recommendation; r != nil {
		for i := range r.ContainerRecommendations {
			names = append(names, r.ContainerRecommendations[i].ContainerName)
		}
	}
	for _, t := range h.Targets {
		if t.Container != "" && !slices.Contains(names, t.Container) {
			names = append(names, t.Container)
		}
	}
	if len(names) == 0 {
		names = []string{vpav1.DefaultContainerResourcePolicy}
	}
	return names
}
