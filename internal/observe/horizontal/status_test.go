package horizontal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

func conditionOf(
	kind string, status corev1.ConditionStatus, at time.Time, reason string,
) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(kind), Status: status,
		LastTransitionTime: metav1.NewTime(at), Reason: reason, Message: "words",
	}
}

// statusAfter returns the status of an HPA after a decision, in the API's form.
func statusAfter(
	hpa *autoscalingv2.HorizontalPodAutoscaler, d *horizontal.Decision, r *statusreport.Report,
) autoscalingv2.HorizontalPodAutoscalerStatus {
	after := StatusAfter(HPA(hpa), d, r, noon)
	return StatusOfHPA(hpa, &after)
}

func TestStatus(t *testing.T) {
	before, earlier := noon.Add(-time.Hour), metav1.NewTime(noon.Add(-2*time.Hour))
	old := autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: ptr.To(int64(6)), LastScaleTime: &earlier, CurrentReplicas: 2, DesiredReplicas: 3,
		CurrentMetrics: []autoscalingv2.MetricStatus{{Type: "Pods"}},
		Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
			conditionOf("ScalingActive", corev1.ConditionTrue, before, "Old"),
			conditionOf("example.com/Foreign", corev1.ConditionTrue, before, "Theirs"),
			conditionOf("AbleToScale", corev1.ConditionTrue, before, "Old"),
		},
	}
	merged := []autoscalingv2.HorizontalPodAutoscalerCondition{
		conditionOf("ScalingActive", corev1.ConditionFalse, noon, "New"),
		conditionOf("example.com/Foreign", corev1.ConditionTrue, before, "Theirs"),
		conditionOf("AbleToScale", corev1.ConditionTrue, before, "New"),
		conditionOf("ScalingLimited", corev1.ConditionFalse, noon, "New"),
	}
	// What is not of a decision stays.
	for _, list := range [][]autoscalingv2.HorizontalPodAutoscalerCondition{old.Conditions, merged} {
		list[0].ObservedGeneration, list[1].ObservedGeneration = ptr.To(int64(5)), ptr.To(int64(3))
	}
	conditions := []condition.Condition{
		{Type: "AbleToScale", Status: condition.True, Reason: "New", Message: "words"},
		{Type: "ScalingActive", Status: condition.False, Reason: "New", Message: "words"},
		{Type: "ScalingLimited", Status: condition.False, Reason: "New", Message: "words"},
	}
	now := metav1.NewTime(noon)
	cases := map[string]struct {
		reason string
		report statusreport.Report
		want   autoscalingv2.HorizontalPodAutoscalerStatus
	}{
		"conditions only": {
			reason: "without the scale the rest of the status stays, its generation too",
			report: statusreport.Report{Conditions: conditions},
			want: autoscalingv2.HorizontalPodAutoscalerStatus{
				ObservedGeneration: ptr.To(int64(6)), LastScaleTime: &earlier, CurrentReplicas: 2, DesiredReplicas: 3,
				CurrentMetrics: old.CurrentMetrics, Conditions: merged,
			},
		},
		"failed metrics": {
			reason: "desired stays, metrics are shown as far as they go",
			report: statusreport.Report{Conditions: conditions, Counts: true, CurrentReplicas: 5, ShowMetrics: true},
			want: autoscalingv2.HorizontalPodAutoscalerStatus{
				ObservedGeneration: ptr.To(int64(7)), LastScaleTime: &earlier, CurrentReplicas: 5, DesiredReplicas: 3,
				CurrentMetrics: []autoscalingv2.MetricStatus{{}}, Conditions: merged,
			},
		},
		"rescaled": {
			reason: "the time of the scale is noted, metrics that were not looked at are dropped",
			report: statusreport.Report{
				Conditions: conditions, Counts: true, CurrentReplicas: 5, DesiredReplicas: ptr.To(int32(8)), Rescaled: true,
			},
			want: autoscalingv2.HorizontalPodAutoscalerStatus{
				ObservedGeneration: ptr.To(int64(7)), LastScaleTime: &now, CurrentReplicas: 5, DesiredReplicas: 8,
				Conditions: merged,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hpa := hpaOf(autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: make([]autoscalingv2.MetricSpec, 1)})
			old.DeepCopyInto(&hpa.Status)
			decision := &horizontal.Decision{Metrics: []metric.Result{{Failure: &source.Failure{}}}}
			if diff := cmp.Diff(tc.want, statusAfter(hpa, decision, &tc.report)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(old, hpa.Status); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestCurrentMetrics(t *testing.T) {
	id := autoscalingv2.MetricIdentifier{
		Name: "m", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
	}
	ref := autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "web", APIVersion: "v1"}
	average := autoscalingv2.MetricTarget{Type: "AverageValue", AverageValue: quantity("1")}
	value := autoscalingv2.MetricTarget{Type: "Value", Value: quantity("1")}
	percent := autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: ptr.To(int32(50))}
	decimal := resource.NewMilliQuantity(1500, resource.DecimalSI)
	cases := map[string]struct {
		reason string
		spec   autoscalingv2.MetricSpec
		result metric.Result
		want   autoscalingv2.MetricStatus
	}{
		"failed": {
			reason: "an entry without a type keeps the places of the others",
			spec:   autoscalingv2.MetricSpec{Type: "Pods", Pods: &autoscalingv2.PodsMetricSource{Metric: id, Target: average}},
			result: metric.Result{Failure: &source.Failure{}},
		},
		"utilization": {
			reason: "shows the percentage and the average behind it",
			spec: autoscalingv2.MetricSpec{
				Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: percent},
			},
			result: metric.Result{Milli: 1500, Percent: 75},
			want: autoscalingv2.MetricStatus{Type: "Resource", Resource: &autoscalingv2.ResourceMetricStatus{
				Name: "cpu", Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr.To(int32(75)), AverageValue: decimal},
			}},
		},
		"memory": {
			reason: "memory is printed in powers of two",
			spec: autoscalingv2.MetricSpec{Type: "ContainerResource",
				ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
					Name: "memory", Container: "app", Target: average,
				}},
			result: metric.Result{Milli: 1024 * 1024 * 1000},
			want: autoscalingv2.MetricStatus{Type: "ContainerResource",
				ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{
					Name: "memory", Container: "app", Current: autoscalingv2.MetricValueStatus{AverageValue: quantity("1Mi")},
				}},
		},
		"pods": {
			reason: "an average with the metric's selector",
			spec:   autoscalingv2.MetricSpec{Type: "Pods", Pods: &autoscalingv2.PodsMetricSource{Metric: id, Target: average}},
			result: metric.Result{Milli: 1500},
			want: autoscalingv2.MetricStatus{Type: "Pods", Pods: &autoscalingv2.PodsMetricStatus{
				Metric: id, Current: autoscalingv2.MetricValueStatus{AverageValue: decimal},
			}},
		},
		"object value": {
			reason: "the value itself",
			spec: autoscalingv2.MetricSpec{Type: "Object", Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: ref, Metric: id, Target: value,
			}},
			result: metric.Result{Milli: 1500},
			want: autoscalingv2.MetricStatus{Type: "Object", Object: &autoscalingv2.ObjectMetricStatus{
				DescribedObject: ref, Metric: id, Current: autoscalingv2.MetricValueStatus{Value: decimal},
			}},
		},
		"object average": {
			reason: "the value for each replica",
			spec: autoscalingv2.MetricSpec{Type: "Object", Object: &autoscalingv2.ObjectMetricSource{
				DescribedObject: ref, Metric: id, Target: average,
			}},
			result: metric.Result{Milli: 1500},
			want: autoscalingv2.MetricStatus{Type: "Object", Object: &autoscalingv2.ObjectMetricStatus{
				DescribedObject: ref, Metric: id, Current: autoscalingv2.MetricValueStatus{AverageValue: decimal},
			}},
		},
		"external value": {
			reason: "the sum of the series",
			spec: autoscalingv2.MetricSpec{
				Type: "External", External: &autoscalingv2.ExternalMetricSource{Metric: id, Target: value},
			},
			result: metric.Result{Milli: 1500},
			want: autoscalingv2.MetricStatus{Type: "External", External: &autoscalingv2.ExternalMetricStatus{
				Metric: id, Current: autoscalingv2.MetricValueStatus{Value: decimal},
			}},
		},
		"external average": {
			reason: "the sum for each replica",
			spec: autoscalingv2.MetricSpec{
				Type: "External", External: &autoscalingv2.ExternalMetricSource{Metric: id, Target: average},
			},
			result: metric.Result{Milli: 1500},
			want: autoscalingv2.MetricStatus{Type: "External", External: &autoscalingv2.ExternalMetricStatus{
				Metric: id, Current: autoscalingv2.MetricValueStatus{AverageValue: decimal},
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hpa := hpaOf(autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: []autoscalingv2.MetricSpec{tc.spec}})
			got := statusAfter(hpa, &horizontal.Decision{Metrics: []metric.Result{tc.result}},
				&statusreport.Report{Counts: true, ShowMetrics: true}).CurrentMetrics
			if diff := cmp.Diff([]autoscalingv2.MetricStatus{tc.want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	memory := resource.NewMilliQuantity(1024*1024*1000, resource.BinarySI)
	if memory.String() != "1Mi" {
		t.Errorf("memory prints as %s", memory.String())
	}
}

func TestEvents(t *testing.T) {
	r := &statusreport.Report{Events: []statusreport.Event{
		{Warning: true, Reason: "FailedRescale", Message: "no"}, {Reason: "SuccessfulRescale", Message: "yes"},
	}}
	want := []Event{{"Warning", "FailedRescale", "no"}, {"Normal", "SuccessfulRescale", "yes"}}
	if diff := cmp.Diff(want, Events(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
