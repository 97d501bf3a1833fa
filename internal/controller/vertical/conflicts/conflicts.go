// Package conflicts finds the horizontal and vertical autoscalers that conflict over a workload. It reads caches, by an
// index, so that a lookup costs no more than the autoscalers of the one workload.
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

// byTarget is the name of the index by target.
const byTarget = "plimsoll.dev/target"

// Informers has the caches of the autoscalers. Workloads has WorkloadAutoscalers in the horizontal loop's form; it may
// never be filled.
type Informers struct{ Horizontals, Workloads, Verticals cache.SharedIndexInformer }

// Finder finds conflicts. It is safe for concurrent use.
type Finder struct {
	horizontals, workloads, verticals cache.Indexer
	skips                             bool
}

// New adds indexes to the informers. skips is set with --vertical-conflict=skip: then the vertical side does not change
// resources in conflict.
func New(all Informers, skips bool) (*Finder, error) {
	for _, informer := range []cache.SharedIndexInformer{all.Horizontals, all.Workloads, all.Verticals} {
		if err := informer.AddIndexers(cache.Indexers{byTarget: targetOf}); err != nil {
			return nil, fmt.Errorf("indexing autoscalers by target: %w", err)
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

// key omits the version, because references may name another one or none.
func key(namespace string, to autoscalingv1.CrossVersionObjectReference) string {
	return strings.Join([]string{namespace, observe.GroupKey(to.APIVersion), observe.KindKey(to.Kind), to.Name}, "/")
}

// OfVertical returns the conflicts of a vertical autoscaler whose workload has these containers.
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

// OfHorizontal describes the conflicts of a horizontal autoscaler with vertical ones; empty if there are none.
func (f *Finder) OfHorizontal(a observehorizontal.Autoscaler) string {
	objects := f.at(f.verticals, keyOf(a))
	if len(objects) == 0 {
		return ""
	}
	h := observevertical.HorizontalOf(a)
	if len(h.Targets) == 0 {
		return ""
	}
	var messages []string
	for _, object := range objects {
		v, ok := object.(*vpav1.VerticalPodAutoscaler)
		if !ok {
			continue
		}
		if found := conflict.Find(verticalOf(v), []conflict.Horizontal{h}, containersOf(v, &h)); len(found) > 0 {
			messages = append(messages, conflict.ForHorizontal(found, v.Name, f.skips))
		}
	}
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}

// Skips reports whether the vertical side does not change resources in conflict.
func (f *Finder) Skips() bool { return f.skips }

func (*Finder) at(indexer cache.Indexer, target string) []any {
	// New has added the index, and its function returns no error.
	objects, _ := indexer.ByIndex(byTarget, target)
	return objects
}

func verticalOf(v *vpav1.VerticalPodAutoscaler) *conflict.Vertical {
	return &conflict.Vertical{
		Name: v.Name, Mode: observevertical.ModeOf(&v.Spec), Policies: observevertical.PoliciesOf(&v.Spec),
	}
}

// containersOf returns the containers that the two objects name: those with a recommendation, and those with a target
// of their own. If there are none yet, it returns the wildcard for all.
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
