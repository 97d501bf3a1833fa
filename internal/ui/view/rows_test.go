package view

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

func hpaCondition(kind, status, reason string) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(kind), Status: corev1.ConditionStatus(status), Reason: reason,
		Message: "the message of " + reason,
	}
}

// TestHealth: the worst condition says how an HPA does, in its own words.
func TestHealth(t *testing.T) {
	able := hpaCondition("AbleToScale", "True", "ReadyForNewScale")
	for name, tt := range map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		health     Health
		says       string
	}{
		"no status": {nil, Unknown, noStatus},
		"all well":  {[]autoscalingv2.HorizontalPodAutoscalerCondition{able}, OK, ""},
		"no metric": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooManyReplicas"), hpaCondition("ScalingActive", "False", "FailedGetResourceMetric")},
			Problem, "the message of FailedGetResourceMetric"},
		"switched off": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingActive", "False", "ScalingDisabled")}, OK, ""},
		"at its maximum": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooManyReplicas")}, Warning, "the message of TooManyReplicas"},
		"at its minimum": {[]autoscalingv2.HorizontalPodAutoscalerCondition{able,
			hpaCondition("ScalingLimited", "True", "TooFewReplicas")}, OK, ""},
	} {
		row := OfHPA(&autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: tt.conditions}})
		if row.Health != tt.health || row.Says != tt.says {
			t.Errorf("%s: %s %q, want %s %q", name, row.Health, row.Says, tt.health, tt.says)
		}
		if isKnown := row.Desired != nil; isKnown != (len(tt.conditions) > 0) {
			t.Errorf("%s: desired count known: %v", name, isKnown)
		}
	}
}

// TestOtherKinds: a WorkloadAutoscaler has the limits that are in force, a VPA its mode.
func TestOtherKinds(t *testing.T) {
	wla := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	wla.Spec.ScaleTargetRef.Kind, wla.Spec.ScaleTargetRef.Name, wla.Spec.MaxReplicas = "Deployment", "web", 10
	wla.Spec.Mode, wla.Status.MaxReplicas = plimsollv1alpha1.ModePaused, ptr.To[int32](40)
	row := OfWLA(wla)
	if row.Target != "Deployment/web" || *row.Max != 40 || row.Mode != "Paused" || row.Health != Unknown || row.Desired != nil {
		t.Errorf("%+v", row)
	}
	vpa := &vpav1.VerticalPodAutoscaler{Status: vpav1.VerticalPodAutoscalerStatus{
		Conditions: []vpav1.VerticalPodAutoscalerCondition{{Type: "NoPodsMatched", Status: "True", Message: "no pods"}}}}
	if row := OfVPA(vpa); row.Health != Problem || row.Says != "no pods" || row.Target != "" {
		t.Errorf("%+v", row)
	}
}
