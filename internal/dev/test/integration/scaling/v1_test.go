package scaling

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// The annotations in which autoscaling/v1 carries what only v2 has fields for.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
)

func TestAnnotationsOfV1AreActedOnAndShownAgain(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	web := harness.Workload{}
	s.Create(web.Deployment(), web.Service(2.5), harness.Queue("jobs", 5), &autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{
			metricsAnnotation: fmt.Sprintf(`[{"type":"External","external":{"metricName":%q,`+
				`"metricSelector":{"matchLabels":{"service":"jobs"}},"targetAverageValue":"10"}}]`, adapter.MetricQueueLength),
			// The fields are those of the type inside the API server, which has no JSON names.
			behaviorAnnotation: `{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max",` +
				`"Policies":[{"Type":"Pods","Value":2,"PeriodSeconds":1800}],"Tolerance":null},"ScaleDown":null}`,
		}},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    10, TargetCPUUtilizationPercentage: ptr.To[int32](50),
		},
	})
	// Both the field's metric and the annotation's count.
	s.AwaitHPA("web", "both metrics", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error {
		if len(hpa.Status.CurrentMetrics) != 2 {
			return fmt.Errorf("%d metrics", len(hpa.Status.CurrentMetrics))
		}
		return hasValidMetric(hpa)
	})
	s.HoldsReplicas(3*time.Second, harness.Deployment, "web", 1)

	s.SetQueue("jobs", 75) // wants 8; the annotated behavior allows 2 more in half an hour
	s.AwaitReplicas(harness.Deployment, "web", 3)
	s.HoldsReplicas(5*time.Second, harness.Deployment, "web", 3)
	s.Eventually("annotations of v1 that show it", func(ctx context.Context) error {
		hpa, err := s.Client.AutoscalingV1().HorizontalPodAutoscalers(s.Name).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return both(showsSpec(hpa), showsQueue(hpa, "25"), showsLimit(hpa))
	})
}

// showsSpec checks that the round trip kept what was written.
func showsSpec(hpa *autoscalingv1.HorizontalPodAutoscaler) error {
	var metrics []autoscalingv1.MetricSpec
	if err := decode(hpa, metricsAnnotation, &metrics); err != nil {
		return err
	}
	if len(metrics) != 1 || metrics[0].External == nil || metrics[0].External.TargetAverageValue.String() != "10" {
		return fmt.Errorf("metrics annotation %v", metrics)
	}
	var behavior struct {
		ScaleUp struct {
			Policies []struct{ PeriodSeconds int32 }
		}
	}
	if err := decode(hpa, behaviorAnnotation, &behavior); err != nil {
		return err
	}
	if len(behavior.ScaleUp.Policies) != 1 || behavior.ScaleUp.Policies[0].PeriodSeconds != 1800 {
		return fmt.Errorf("behavior annotation %v", behavior)
	}
	return nil
}

func showsQueue(hpa *autoscalingv1.HorizontalPodAutoscaler, average string) error {
	var statuses []autoscalingv1.MetricStatus
	if err := decode(hpa, currentMetricsAnnotation, &statuses); err != nil {
		return err
	}
	for _, m := range statuses {
		if m.External != nil && m.External.CurrentAverageValue != nil && m.External.CurrentAverageValue.String() == average {
			return nil
		}
	}
	return fmt.Errorf("current metrics %v without a queue of %s for each pod", statuses, average)
}

func showsLimit(hpa *autoscalingv1.HorizontalPodAutoscaler) error {
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	if err := decode(hpa, conditionsAnnotation, &conditions); err != nil {
		return err
	}
	for _, c := range conditions {
		if c.Type == autoscalingv1.ScalingLimited && c.Reason == "ScaleUpLimit" {
			return nil
		}
	}
	return fmt.Errorf("conditions %v without ScaleUpLimit", conditions)
}

func decode(hpa *autoscalingv1.HorizontalPodAutoscaler, annotation string, into any) error {
	text, found := hpa.Annotations[annotation]
	if !found {
		return fmt.Errorf("no annotation %s in %v", annotation, hpa.Annotations)
	}
	return json.Unmarshal([]byte(text), into)
}
