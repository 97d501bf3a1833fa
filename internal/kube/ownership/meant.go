package ownership

import (
	"context"
	"errors"
	"iter"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// byTarget is the index of VerticalPodAutoscalers by what they name: the workload, and
// for a kind that is not well known the namespace alone, too.
const byTarget = "plimsoll.dev/owner-target"

// errNotMeant is why an owner is not asked for.
var errNotMeant = as(ErrUnsupported, errors.New("no VerticalPodAutoscaler names it"))

func (t *Tree) targetKeys(object any) ([]string, error) {
	vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
	if !ok || vpa.Spec.TargetRef == nil {
		return nil, nil
	}
	o := ownerOf(vpa.Namespace, vpa.Spec.TargetRef)
	keys := []string{o.targetKey()}
	if _, isKnown := t.informer(o); !isKnown {
		keys = append(keys, vpa.Namespace)
	}
	return keys, nil
}

func ownerOf(namespace string, ref *autoscalingv1.CrossVersionObjectReference) Owner {
	return Owner{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
}

func (o Owner) targetKey() string {
	return strings.Join([]string{o.Namespace, observe.GroupKey(o.APIVersion), o.Kind, o.Name}, "/")
}

// isMeant reports whether a VerticalPodAutoscaler depends on the owner of this object, if the
// owner's kind has to be asked for: one that names the object, whose owner it should name instead,
// or one of the namespace that names such a kind.
func (t *Tree) isMeant(below Owner) bool {
	if t.autoscalers == nil {
		return true
	}
	for _, key := range []string{below.Namespace, below.targetKey()} {
		// The index is there, and its function returns no error.
		if named, _ := t.autoscalers.GetIndexer().IndexKeys(byTarget, key); len(named) > 0 {
			return true
		}
	}
	return false
}

// Await waits until the workloads that references name, by their namespaces, have been
// asked for once: all at the same time, and not for long. Those that hang are waited
// for no more.
func (t *Tree) Await(ctx context.Context, references iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference]) {
	type reference struct {
		namespace string
		ref       *autoscalingv1.CrossVersionObjectReference
	}
	var missing []reference
	for namespace, ref := range references {
		if _, err := t.TargetOf(namespace, ref); errors.Is(err, errNotAsked) {
			missing = append(missing, reference{namespace, ref})
		}
	}
	if len(missing) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range missing {
		for {
			t.mu.Lock()
			answered := t.answered
			t.mu.Unlock()
			// Its parent is asked for once it is known itself.
			if _, err := t.TargetOf(m.namespace, m.ref); !errors.Is(err, errNotAsked) {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-answered:
			}
		}
	}
}
