package recommender

import (
	"errors"
	"fmt"
	"iter"

	autoscalingv1 "k8s.io/api/autoscaling/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
)

func references(works []*work) iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference] {
	return func(yield func(string, *autoscalingv1.CrossVersionObjectReference) bool) {
		for _, w := range works {
			if ref := w.object.Spec.TargetRef; ref != nil && !yield(w.object.Namespace, ref) {
				return
			}
		}
	}
}

// targetOf looks up the object's workload, or returns why it cannot. The messages are upstream's.
func targetOf(targets Targets, object *vpav1.VerticalPodAutoscaler) (ownership.Target, recommend.Lookup) {
	ref := object.Spec.TargetRef
	if ref == nil {
		return lookupFailed(
			"Cannot read targetRef. Reason: targetRef not defined. If this is a v1beta1 object, switch to v1", nil)
	}
	target, err := targets.TargetOf(object.Namespace, ref)
	if err != nil {
		return lookupFailed("Cannot read targetRef. Reason: "+err.Error(), err)
	}
	if target.HasParent {
		return lookupFailed(fmt.Sprintf(
			"The target %s.%s/%s has a parent controller but it should point to a topmost well-known or scalable controller",
			ref.APIVersion, ref.Kind, ref.Name), nil)
	}
	return target, recommend.Lookup{}
}

func lookupFailed(problem string, err error) (ownership.Target, recommend.Lookup) {
	return ownership.Target{}, recommend.Lookup{Problem: problem, Transient: errors.Is(err, ownership.ErrUnknown)}
}
