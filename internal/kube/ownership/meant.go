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

// byTarget is the index of VerticalPodAutoscalers by their targets: by the workload and, for a kind that is not well
// known, by the namespace alone too.
const byTarget = "plimsoll.dev/owner-target"

// errNotMeant is the error of an owner that is not requested.
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

// isMeant reports whether a VerticalPodAutoscaler depends on the owner of this object, if that is of a kind that must
// be requested: one that names the object, whose owner it should name instead, or one in the namespace that names such
// a kind.
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

// Await waits until the scales of the workloads that the references name, by their namespaces, have been requested
// once: concurrently, and not for long. It does not wait for calls that hang.
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
			// Its parent is requested once the object is known.
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
