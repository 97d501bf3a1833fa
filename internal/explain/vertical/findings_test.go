package vertical

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// TestFindings: findings from the object alone are computed; those that only the recommender has come from the status.
func TestFindings(t *testing.T) {
	k := known()
	k.Object.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{
		{Type: "ConfigInvalid", Status: corev1.ConditionTrue, Reason: "Invalid", Message: "mended since"},
		{Type: "MetricsMissing", Status: corev1.ConditionTrue, Reason: "NoSamples", Message: "pods run"},
	}
	is := func(kind status.FindingKind) bool {
		return condition.Sorted.IsTrue(explainedBy(t, k, divergence.Default).Recommended.Conditions, kind.String())
	}
	if is(status.ConfigInvalid) || !is(status.MetricsMissing) {
		t.Error("a valid object is still invalid, or is measured without samples")
	}
	k.Object.Spec.Recommenders = slices.Repeat([]vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: "default"}}, 2)
	if !is(status.ConfigInvalid) {
		t.Error("two recommenders are valid")
	}
}
