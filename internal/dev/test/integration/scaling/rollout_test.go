package scaling

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// While pods are replaced there are more of them than wanted, some not ready, some without metrics yet, and new ones
// use CPU to start. None of this is load.
func TestRollingUpdateLeavesTheCountRight(t *testing.T) {
	t.Parallel()
	// Seconds of two scrapes of metrics-server: the first may find no metrics of the new pods, so that nothing is
	// recommended, and the second counts only those that were ready before it. And of two steps of the workload model
	// with a decision's period.
	disagreement := map[string]int32{"cpu": 30, "pods": 3}
	for name, metric := range map[string]autoscalingv2.MetricSpec{
		"cpu":  harness.Resource(corev1.ResourceCPU, harness.Utilization(50)),
		"pods": harness.PodRequests(harness.AverageValue("5")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			web := harness.Workload{Annotations: map[string]string{
				"sim.plimsoll.dev/startup-delay": "3s", world.AnnotationStartupCPU: "300m", world.AnnotationStartupDuration: "2s",
			}}
			deployment := web.Deployment()
			deployment.Spec.Strategy = appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: ptr.To(intstr.FromInt32(2)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
				},
			}
			hpa := harness.Autoscaler("web", metric)
			// Every wrong proposal shows that lasts longer: pods that are there with samples that are of the ones before them.
			hpa.Spec.Behavior = harness.DownAtOnce()
			hpa.Spec.Behavior.ScaleDown.StabilizationWindowSeconds = ptr.To(disagreement[name])
			s.Create(deployment, web.Service(17.5), hpa)
			s.AwaitReplicas(harness.Deployment, "web", 4)
			s.Eventually("four ready pods", func(ctx context.Context) error { return readyPods(ctx, s, 4) })
			s.AwaitHPA("web", "a steady reading", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
				return both(hasValidMetric(hpa), currentReplicas(hpa, 4))
			})
			s.HoldsReplicas(2*patience, harness.Deployment, "web", 4) // two more scrapes: all pods have metrics

			record := s.WatchCounts("web")
			s.Kubectl("set", "image", "deployment/web", "app=registry.example/simulated:2")
			s.Kubectl("rollout", "status", "deployment/web", "--timeout=120s")
			s.HoldsReplicas(patience+time.Duration(disagreement[name])*time.Second, harness.Deployment, "web", 4)
			t.Logf("counts during the rolling update: %s", record)
			awaitSequence(s, record, 4)
			s.AwaitHPA("web", "a steady reading afterwards", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
				return both(hasValidMetric(hpa), currentReplicas(hpa, 4))
			})
		})
	}
}
