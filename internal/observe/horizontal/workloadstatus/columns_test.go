package workloadstatus

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestMetricsText checks the column METRICS of metrics that Plimsoll reads itself.
func TestMetricsText(t *testing.T) {
	ten := resource.MustParse("10")
	average := plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: &ten}
	pods := plimsollv1alpha1.MetricSpec{Type: "PodEndpoint", PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
		Metric: plimsollv1alpha1.SeriesIdentifier{Name: "hits"}, Target: average,
	}}
	query := plimsollv1alpha1.MetricSpec{Type: "Prometheus", Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
		Query: "sum(up)", Target: plimsollv1alpha1.MetricTarget{Type: "Value", Value: &ten},
	}}
	scaler := plimsollv1alpha1.MetricSpec{
		Type: "ExternalScaler", ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{MetricName: "jobs"},
	}
	queue := plimsollv1alpha1.MetricSpec{Type: "External", External: &plimsollv1alpha1.ExternalMetricSource{
		Target: plimsollv1alpha1.MetricTarget{Type: "Value", Value: &ten},
	}}
	named := func(m plimsollv1alpha1.MetricSpec, name string) plimsollv1alpha1.MetricSpec {
		m.Name = name
		return m
	}
	five := resource.MustParse("5")
	for name, tt := range map[string]struct {
		specs   []plimsollv1alpha1.MetricSpec
		current []plimsollv1alpha1.MetricStatus
		results []metric.Result
		want    string
	}{
		"no values": {specs: []plimsollv1alpha1.MetricSpec{pods}, want: "hits: <unknown>/10 (avg)"},
		"no room for the second": {specs: []plimsollv1alpha1.MetricSpec{pods, query, query},
			want: "hits: <unknown>/10 (avg) + 2 more"},
		"values": {
			specs:   []plimsollv1alpha1.MetricSpec{pods, query},
			current: []plimsollv1alpha1.MetricStatus{{AverageValue: &five}, {Value: &five}},
			want:    "hits: 5/10 (avg), sum(up): 5/10",
		},
		"with names": {specs: []plimsollv1alpha1.MetricSpec{named(query, "up"), named(queue, "mails")},
			want: "up: <unknown>/10 + 1 more"},
		"a long name": {specs: []plimsollv1alpha1.MetricSpec{named(query, "requests-per-second-of-the-frontend")},
			want: "requests-per-second-of-the-fronte..."},
		"no target yet": {specs: []plimsollv1alpha1.MetricSpec{scaler}, want: "jobs: <unknown>/<unknown> (avg)"},
		"the scaler's target": {
			specs:   []plimsollv1alpha1.MetricSpec{scaler},
			current: []plimsollv1alpha1.MetricStatus{{AverageValue: &five}},
			results: []metric.Result{{TargetMilli: 2500}}, want: "jobs: 5/2500m (avg)",
		},
	} {
		a := observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
			Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{Metrics: tt.specs},
		})
		w := Decided{Decision: &horizontal.Decision{Metrics: tt.results}}
		if got := w.metricsText(a, tt.current); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
