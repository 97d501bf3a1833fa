package status_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestScaledToZeroBeforeTheLead: the cache of a new leader has the target from before the previous leader scaled it to
// zero. The condition must not end because of that: the target would stay at zero.
func TestScaledToZeroBeforeTheLead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := horizontaltest.Externally(w.Web("web", 0))
		hpa.Spec.MinReplicas = ptr.To[int32](0)
		hpa.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionTrue, Reason: "ScaledToZero"},
		}
		w.AddHPA(hpa)
		w.SetReplicas("web", 0)
		w.ExternalValue = func(context.Context) (int64, error) { return 100, nil }
		w.Client.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			stale := w.Deployment("web")
			stale.Spec.Replicas, stale.ResourceVersion = ptr.To[int32](1), "1"
			return true, &appsv1.DeploymentList{Items: []appsv1.Deployment{*stale}}, nil
		})
		w.Client.PrependWatchReactor("deployments", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, watch.NewFake(), nil
		})
		w.Start()
		w.Pass(2 * horizontaltest.Period)
		w.WantReplicas("web", 1, "there is work, and Plimsoll scaled the target to zero")
		if got := w.ScaleWrites(); len(got) != 1 || got[0] != "web 0→1" {
			t.Errorf("scale writes %v", got)
		}
	})
}
