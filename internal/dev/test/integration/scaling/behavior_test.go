package scaling

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func TestPolicyOfOnePodAMinute(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 60}},
	}}
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
	record := s.WatchCounts("web")
	s.Create(hpa)

	s.AwaitReplicas(harness.Deployment, "web", 2)
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionTrue, Reason: "ScaleUpLimit",
		Message: "the desired replica count is increasing faster than the maximum scale rate",
	})
	s.AwaitReplicas(harness.Deployment, "web", 3)
	awaitSequence(s, record, 1, 2, 3)
	counts, err := record.Counts()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("counts: %s", record)
	// On a busy machine the first may arrive late at the watch, which makes the difference smaller.
	if took := counts[2].At.Sub(counts[1].At); took < 55*time.Second {
		t.Errorf("the second pod came %s after the first, want a minute", took)
	}
}

// The defaults allow the larger of four pods and a doubling every 15 s: from 1 to 5, to 10, to 20.
func TestDefaultBehaviorScalesUpInSteps(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.MaxReplicas = 100
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: ptr.To[int32](20),
	}}
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 195))
	record := s.WatchCounts("web")
	s.Create(hpa)
	s.AwaitReplicas(harness.Deployment, "web", 20)
	t.Logf("counts up: %s", record)
	awaitSequence(s, record, 1, 5, 10, 20)

	// Down: not before the window of 20 s has passed, then at once, as the default policy is 100 % in 15 s.
	s.SetQueue("jobs", 25)
	began := time.Now()
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ScaleDownStabilized",
		Message: "recent recommendations were higher than current one, applying the highest recent recommendation",
	})
	s.AwaitReplicas(harness.Deployment, "web", 3)
	// The window begins with the last decision before the queue got shorter, which on a busy machine is seconds ago.
	if took := time.Since(began); took < 15*time.Second {
		t.Errorf("scaled down after %s, want the window of 20 s", took)
	}
	t.Logf("counts up and down: %s", record)
	awaitSequence(s, record, 1, 5, 10, 20, 3)
}

func awaitSequence(s *harness.Namespace, record *harness.Record, want ...int32) {
	s.Eventually(fmt.Sprintf("counts %v", want), func(context.Context) error {
		got, err := record.Replicas()
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("counts %s", record)
		}
		return err
	})
}

// Without behavior a scale-down waits for the five minutes of --horizontal-pod-autoscaler-downscale-stabilization.
func TestScaleDownWaitsWithoutBehavior(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitReplicas(harness.Deployment, "web", 4)
	s.SetQueue("jobs", 5)
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ScaleDownStabilized",
	})
	s.HoldsReplicas(20*time.Second, harness.Deployment, "web", 4)
}

// TestCountFallsNoFartherThanLoad: decisions each second on the answers of metrics-server, which are up to 20 s old, lower
// the count no farther than the load falls.
func TestCountFallsNoFartherThanLoad(t *testing.T) {
	t.Parallel()
	shared.Namespace(t).FallsNoFartherThanLoad()
}
