package horizontal

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// TestUpstreamQuantities: the format of an average in milli-units in a status
// (pkg/controller/podautoscaler/horizontal_test.go, TestBuildQuantity, v1.37.1). Subtests have upstream's names, two of
// which take milli-bytes for bytes.
func TestUpstreamQuantities(t *testing.T) {
	const custom = corev1.ResourceName("custom-resource")
	for name, tt := range map[string]struct {
		resource corev1.ResourceName
		milli    int64
		want     *resource.Quantity
	}{
		"Memory - 1000 bytes → 1Ki":        {corev1.ResourceMemory, 1000, resource.NewQuantity(1, resource.BinarySI)},
		"Memory - 1000000 bytes → 1000Ki":  {corev1.ResourceMemory, 1000000, resource.NewQuantity(1000, resource.BinarySI)},
		"CPU - 100 milli-cores":            {corev1.ResourceCPU, 100, resource.NewMilliQuantity(100, resource.DecimalSI)},
		"CPU - 500 milli-cores":            {corev1.ResourceCPU, 500, resource.NewMilliQuantity(500, resource.DecimalSI)},
		"CPU - 1 milli-core":               {corev1.ResourceCPU, 1, resource.NewMilliQuantity(1, resource.DecimalSI)},
		"CustomResource - 200 milli-units": {custom, 200, resource.NewMilliQuantity(200, resource.DecimalSI)},
		"CustomResource - 300 milli-units": {custom, 300, resource.NewMilliQuantity(300, resource.DecimalSI)},
	} {
		t.Run(name, func(t *testing.T) {
			hpa := hpaOf(autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: tt.resource, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.AverageValueMetricType, AverageValue: quantity("1"),
				}},
			}}})
			decision := &horizontal.Decision{Metrics: []metric.Result{{Milli: tt.milli}}}
			report := &statusreport.Report{Counts: true, ShowMetrics: true}
			got := statusAfter(hpa, decision, report).CurrentMetrics[0].Resource.Current.AverageValue
			if !got.Equal(*tt.want) || got.Format != tt.want.Format {
				t.Errorf("got %s (%s), want %s (%s)", got, got.Format, tt.want, tt.want.Format)
			}
		})
	}
}
