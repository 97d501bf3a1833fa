package horizontal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// The value of a metric that Plimsoll reads itself has the form that is compared with the last status.
func TestStatusOfOwnMetrics(t *testing.T) {
	decimal := resource.NewMilliQuantity(1500, resource.DecimalSI)
	total := plimsollv1alpha1.MetricTarget{Type: "Value", Value: quantity("1")}
	average := plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: quantity("1")}
	hits := plimsollv1alpha1.SeriesIdentifier{Name: "hits"}
	for name, tt := range map[string]struct {
		spec   plimsollv1alpha1.MetricSpec
		result metric.Result
		want   MetricValue
	}{
		"failed": {
			plimsollv1alpha1.MetricSpec{
				Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{Metric: hits},
			},
			metric.Result{Failure: &source.Failure{}}, MetricValue{},
		},
		"awaited": {
			plimsollv1alpha1.MetricSpec{
				Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{Metric: hits},
			},
			metric.Result{Pending: true}, MetricValue{},
		},
		"each pod": {
			plimsollv1alpha1.MetricSpec{Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
				Metric: hits, Target: average,
			}}, metric.Result{Milli: 1500}, MetricValue{Type: "PodEndpoint", AverageValue: decimal},
		},
		"all pods": {
			plimsollv1alpha1.MetricSpec{Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
				Metric: hits, Target: total,
			}}, metric.Result{Milli: 1500}, MetricValue{Type: "PodEndpoint", Value: decimal},
		},
		"a query": {
			plimsollv1alpha1.MetricSpec{Type: "Prometheus", Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
				Query: "sum(up)", Target: total,
			}}, metric.Result{Milli: 1500}, MetricValue{Type: "Prometheus", Value: decimal},
		},
		"a scaler's own target": {
			plimsollv1alpha1.MetricSpec{Type: "ExternalScaler", ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{
				ScalerAddress: "scaler:9090",
			}}, metric.Result{Milli: 1500}, MetricValue{Type: "ExternalScaler", AverageValue: decimal},
		},
		"a scaler's own total": {
			plimsollv1alpha1.MetricSpec{Type: "ExternalScaler", ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{
				MetricName: "jobs", Target: &plimsollv1alpha1.ExternalScalerTarget{Type: "Value"},
			}}, metric.Result{Milli: 1500}, MetricValue{Type: "ExternalScaler", Value: decimal},
		},
	} {
		a := WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{
			Metrics: []plimsollv1alpha1.MetricSpec{tt.spec},
		}})
		got := metricsAfter(a, nil, []metric.Result{tt.result})
		if diff := cmp.Diff([]MetricValue{tt.want}, got, cmp.AllowUnexported(MetricValue{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
