package horizontaltest

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
)

// InAuto sets mode auto.
func InAuto(c *controllerhorizontal.Config) { c.HPAs = takeover.Auto }

// Upstream is the name of the other controller in managedFields.
const Upstream = "kube-controller-manager"

// Touch changes something in a status.
func Touch(s *autoscalingv2.HorizontalPodAutoscalerStatus) { s.DesiredReplicas++ }

// Count counts the events that have a part.
func Count(events []string, part string) int {
	n := 0
	for _, e := range events {
		if strings.Contains(e, part) {
			n++
		}
	}
	return n
}

// InShadow sets mode shadow.
func InShadow(c *controllerhorizontal.Config) { c.HPAs = takeover.Shadow }

// UpstreamDecides makes a decision of the other controller, with its scale write.
func (w *World) UpstreamDecides(name string, desired int32) {
	current := w.Replicas(name)
	if desired != current {
		w.SetReplicas(name, desired)
	}
	w.WriteStatus(name, Upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
		s.CurrentReplicas, s.DesiredReplicas = current, desired
		s.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: "cpu", Current: autoscalingv2.MetricValueStatus{
					AverageValue: resource.NewMilliQuantity(time.Now().UnixMilli(), resource.DecimalSI),
				},
			}}}
		s.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"},
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound"},
			{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionFalse, Reason: "DesiredWithinRange"},
		}
		if desired != current {
			now := metav1.NewTime(time.Now().Truncate(time.Second))
			s.LastScaleTime = &now
		}
	})
}
