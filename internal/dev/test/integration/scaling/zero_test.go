package scaling

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

var disabled = harness.Condition{
	Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "ScalingDisabled",
	Message: "scaling is disabled since the replica count of the target is zero",
}

func TestTargetAtZeroStopsAndResumes(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitReplicas(harness.Deployment, "web", 4)

	s.Kubectl("scale", "deployment/web", "--replicas=0")
	s.AwaitConditions("web", disabled)
	s.SetQueue("jobs", 75)
	s.HoldsReplicas(5*time.Second, harness.Deployment, "web", 0)
	if err := harness.Has(s.HPA("web"), disabled); err != nil {
		t.Error(err)
	}

	s.Kubectl("scale", "deployment/web", "--replicas=1")
	s.AwaitReplicas(harness.Deployment, "web", 8)
	s.AwaitHPA("web", "metrics again", hasValidMetric)
}

func TestScalesToZeroAndBackByAnExternalMetric(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.MinReplicas = ptr.To[int32](0)
	hpa.Spec.Behavior = harness.DownAtOnce()
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 25), hpa)
	s.AwaitReplicas(harness.Deployment, "web", 3)
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionFalse, Reason: "NotScaledToZero",
		Message: "the HPA controller did not scale the workload to zero",
	})

	s.SetQueue("jobs", 0)
	s.AwaitReplicas(harness.Deployment, "web", 0)
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionTrue, Reason: "ScaledToZero",
		Message: "the HPA controller scaled the workload to zero",
	})
	s.HoldsReplicas(5*time.Second, harness.Deployment, "web", 0)

	s.SetQueue("jobs", 15)
	s.AwaitReplicas(harness.Deployment, "web", 2)
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionFalse, Reason: "NotScaledToZero",
	})
	s.HoldsReplicas(3*time.Second, harness.Deployment, "web", 2)
}
