package vertical

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// divided is an HPA that divides by these requests of the Deployment web.
func divided(names ...corev1.ResourceName) []*autoscalingv2.HorizontalPodAutoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		},
	}
	for _, name := range names {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: name,
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50),
				},
			},
		})
	}
	return []*autoscalingv2.HorizontalPodAutoscaler{hpa}
}

// TestWhyNothingIsRecommended: that there are no samples yet is said only where samples would change that.
func TestWhyNothingIsRecommended(t *testing.T) {
	off := vpav1.ContainerScalingModeOff
	for want, change := range map[string]func(*snapshotvertical.Step){
		"Recommends nothing yet: no checkpoint has samples.": func(k *snapshotvertical.Step) { k.Checkpoints = nil },
		"Recommends nothing yet: it has no pods, and no checkpoint has samples.": func(k *snapshotvertical.Step) {
			k.Checkpoints, k.Pods = nil, nil
		},
		"Recommends nothing: the resourcePolicy leaves out all containers, by mode Off or without controlledResources.": func(k *snapshotvertical.Step) {
			k.Object.Spec.ResourcePolicy.ContainerPolicies[0].Mode = &off
		},
		"Recommends nothing: the HorizontalPodAutoscaler web has a utilization target on cpu of container app and on " +
			"memory of container app.": func(k *snapshotvertical.Step) {
			k.Horizontals = divided(corev1.ResourceCPU, corev1.ResourceMemory)
		},
		"Recommends nothing yet: spec.recommenders leaves it to custom, and no checkpoint has " +
			"samples.": func(k *snapshotvertical.Step) {
			k.Checkpoints = nil
			k.Object.Spec.Recommenders = []vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: "custom"}}
		},
	} {
		k := known()
		k.Object.Status.Recommendation = nil
		change(k)
		if got := explainedBy(t, k, divergence.Default).Summary(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestAnotherObjectApplies: of several objects of a workload only the first one changes the pods.
func TestAnotherObjectApplies(t *testing.T) {
	for first, isPassedOver := range map[string]bool{"web": false, "other": true} {
		k := known()
		k.Object.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "web",
		}
		k.Object.Status.Conditions = []vpav1.VerticalPodAutoscalerCondition{{
			Type: "TargetShared", Status: corev1.ConditionTrue, Reason: "SeveralAutoscalers",
			Message: "Deployment web has several VerticalPodAutoscalers: other, web; " + first + " applies to its pods",
		}}
		e := explainedBy(t, k, divergence.Default)
		isSaid := strings.HasSuffix(e.Summary(), "; its pods are changed by VerticalPodAutoscaler other alone.")
		if isSaid != isPassedOver || (len(e.Update.Pods) == 0) != isPassedOver {
			t.Errorf("%s applies: %d pods: %s", first, len(e.Update.Pods), e.Summary())
		}
	}
}
