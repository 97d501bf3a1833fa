package horizontal

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// Target converts the scale, and the selector of its pods. If the selector is missing or cannot be parsed, the target
// has the error and the selector selects nothing.
func Target(scale *autoscalingv1.Scale) (horizontal.Target, labels.Selector) {
	t := horizontal.Target{SpecReplicas: scale.Spec.Replicas, StatusReplicas: scale.Status.Replicas}
	if scale.Status.Selector == "" {
		t.Selector.SetMissing()
		return t, labels.Nothing()
	}
	selector, err := labels.Parse(scale.Status.Selector)
	if err != nil {
		t.Selector.SetInvalid("couldn't convert selector into a corresponding internal selector object: " + err.Error())
		return t, labels.Nothing()
	}
	return t, selector
}
