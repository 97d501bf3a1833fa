package scaling

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

func TestEachKindOfTargetScalesUpUnderLoad(t *testing.T) {
	t.Parallel()
	web := harness.Workload{}
	for name, c := range map[string]struct {
		kind       schema.GroupVersionResource
		apiVersion string
		object     client.Object
	}{
		"Deployment":            {harness.Deployment, "apps/v1", web.Deployment()},
		"StatefulSet":           {harness.StatefulSet, "apps/v1", web.StatefulSet()},
		"ReplicaSet":            {harness.ReplicaSet, "apps/v1", web.ReplicaSet()},
		"ReplicationController": {harness.ReplicationController, "v1", web.ReplicationController()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.Namespace(t)
			// The load of each pod is measured, so that the pods must exist, be found by the target's selector and be ready.
			hpa := harness.Autoscaler("web", harness.PodRequests(harness.AverageValue("10")))
			hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{
				APIVersion: c.apiVersion, Kind: name, Name: "web",
			}
			s.Create(c.object, web.Service(5), hpa)
			s.AwaitHPA("web", "a first value", hasValidMetric)
			s.HoldsReplicas(3*time.Second, c.kind, "web", 1)

			s.SetLoad("web", 35)
			s.AwaitReplicas(c.kind, "web", 4) // 35 over 10 each
			s.AwaitHPA("web", "4 current replicas", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
				return both(currentReplicas(hpa, 4), hasValidMetric(hpa))
			})
			s.HoldsReplicas(5*time.Second, c.kind, "web", 4)
		})
	}
}

func TestDaemonSetHasNoScale(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10")))
	hpa.Spec.ScaleTargetRef.Kind = "DaemonSet"
	s.Create(harness.Workload{}.DaemonSet(), harness.Queue("jobs", 35), hpa)

	const message = "the server could not find the requested resource"
	s.AwaitConditions("web", harness.Condition{
		Type: autoscalingv2.AbleToScale, Status: corev1.ConditionFalse, Reason: "FailedGetScale",
		Message: "the HPA controller was unable to get the target's current scale: " + message,
	})
	event := s.AwaitEvent("web", "FailedGetScale", message)
	if event.Type != corev1.EventTypeWarning || event.Message != message {
		t.Errorf("event %s %q, want Warning %q", event.Type, event.Message, message)
	}
	if conditions := s.HPA("web").Status.Conditions; len(conditions) != 1 {
		t.Errorf("conditions %v, want AbleToScale alone", conditions)
	}
}
