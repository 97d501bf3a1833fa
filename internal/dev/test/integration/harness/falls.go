package harness

import (
	"context"
	"fmt"
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// FallsNoFartherThanLoad checks, where nothing holds a lower count back, that a load which falls from 40 pods' to 30
// pods' worth leaves 30 pods, or few more or less within the tolerance. For as long as samples reach back, they have
// the use of each pod beside more of them. Multiplied onto each lower count, such a ratio would lower the count again
// in every decision. It takes a minute and a half.
func (s *Namespace) FallsNoFartherThanLoad() {
	s.t.Helper()
	const before, after, perPod, tolerance = 40, 30, 5, 0.1
	s.Create(Workload{Replicas: ptr.To[int32](before)}.Deployment(), Workload{}.Service(before*perPod))
	s.Eventually("all pods ready", func(ctx context.Context) error {
		deployment, err := s.Client.AppsV1().Deployments(s.Name).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != before {
			err = fmt.Errorf("%d are ready", deployment.Status.ReadyReplicas)
		}
		return err
	})
	hpa := Autoscaler("web", Resource(corev1.ResourceCPU, Utilization(50)))
	hpa.Spec.MaxReplicas, hpa.Spec.Behavior = 100, DownAtOnce()
	counts := s.WatchCounts("web")
	s.Create(hpa)
	s.AwaitConditions("web", Condition{
		Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
	})
	s.HoldsReplicas(20*time.Second, Deployment, "web", before) // so that samples reach back to nothing but this load

	// Half a pod less than 30 need: rounding leaves no doubt that it is 30.
	s.SetLoad("web", (after-0.5)*perPod)
	least := int64(math.Floor(after * (1 - tolerance)))
	// The samples need up to 20 s to fall, and as long after a first step down before there is another.
	s.Holds(45*time.Second, fmt.Sprintf("%d pods or more", least), func(context.Context) error {
		if n := s.Replicas(Deployment, "web"); n < least {
			return fmt.Errorf("%d; counts: %s", n, counts)
		}
		return nil
	})
	s.t.Logf("counts: %s", counts)
	if n := s.Replicas(Deployment, "web"); float64(n) > after/(1-tolerance) {
		s.t.Errorf("%d pods in the end, want %d", n, after)
	}
}
