package workloadstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// onCPU is a WorkloadAutoscaler with a target of 80 % and a status of 40 %, and a decision with this result.
func onCPU(t *testing.T, r metric.Result) (observehorizontal.Autoscaler, *Decided) {
	t.Helper()
	a := observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{MaxReplicas: 5, Metrics: []plimsollv1alpha1.MetricSpec{{
			Type: "Resource", Resource: &plimsollv1alpha1.ResourceMetricSource{
				Name: "cpu", Target: plimsollv1alpha1.MetricTarget{Type: "Utilization", AverageUtilization: ptr.To[int32](80)},
			},
		}}},
		Status: plimsollv1alpha1.WorkloadAutoscalerStatus{
			EffectiveMinReplicas: ptr.To[int32](1), EffectiveMaxReplicas: ptr.To[int32](5),
			Metrics: []plimsollv1alpha1.MetricStatus{{Name: "cpu", Type: "Resource", AverageUtilization: ptr.To[int32](40),
				AverageValue: resource.NewMilliQuantity(40, resource.DecimalSI), Replicas: ptr.To[int32](1),
				Samples: &plimsollv1alpha1.MetricSamples{Counted: 2}}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
		},
	})
	policy, _, refusal := observehorizontal.PolicyOf(a, observehorizontal.DefaultOptions())
	if refusal.Reason != "" {
		t.Fatal(refusal)
	}
	var state horizontal.State
	observation := horizontal.Observation{Target: horizontal.Target{SpecReplicas: 2, StatusReplicas: 2}}
	decision, _ := horizontal.Decide(noon, &policy, state, &observation)
	decision.Branch, decision.Metrics = horizontal.BranchMetrics, []metric.Result{r}
	return a, &Decided{Status: &observehorizontal.Status{}, Policy: &policy, Decision: &decision}
}

var two = metric.Counts{Counted: 2}

// TestMetrics: each metric with its value, its proposed count, and notes about its samples.
func TestMetrics(t *testing.T) {
	value := resource.NewMilliQuantity(90, resource.DecimalSI)
	shown := observehorizontal.MetricValue{
		Type: source.Resource, AverageValue: value, AverageUtilization: ptr.To[int32](90),
	}
	old := noon.Add(-10 * time.Minute)
	for name, c := range map[string]struct {
		result metric.Result
		common observehorizontal.MetricValue
		want   plimsollv1alpha1.MetricStatus
	}{
		"fresh": {metric.Result{Replicas: 3, At: noon.Add(-time.Minute), Counts: two}, shown,
			plimsollv1alpha1.MetricStatus{AverageValue: value, AverageUtilization: ptr.To[int32](90),
				Replicas: ptr.To[int32](3), Samples: &plimsollv1alpha1.MetricSamples{Counted: 2}}},
		"of some pods": {metric.Result{Replicas: 3, Counts: metric.Counts{Counted: 2, Missing: 1, Lacking: 1, Unready: 3,
			Unsampled: 90}}, shown,
			plimsollv1alpha1.MetricStatus{AverageValue: value, AverageUtilization: ptr.To[int32](90),
				Replicas: ptr.To[int32](3),
				Samples:  &plimsollv1alpha1.MetricSamples{Counted: 2, Missing: 2, NotReady: 3, NotAsked: 90}}},
		"stale": {metric.Result{Replicas: 3, At: old}, shown,
			plimsollv1alpha1.MetricStatus{AverageValue: value, AverageUtilization: ptr.To[int32](90),
				Replicas: ptr.To[int32](3), SampleTime: ptr.To(metav1.NewTime(old))}},
		"failed": {metric.Result{Failure: &source.Failure{Reason: "FailedGetResourceMetric", Message: "no samples"}},
			observehorizontal.MetricValue{},
			plimsollv1alpha1.MetricStatus{Failure: &plimsollv1alpha1.MetricFailure{
				Reason: "FailedGetResourceMetric", Message: "no samples"}}},
		"awaited": {metric.Result{Pending: true}, shown,
			plimsollv1alpha1.MetricStatus{AverageValue: resource.NewMilliQuantity(40, resource.DecimalSI),
				AverageUtilization: ptr.To[int32](40), Replicas: ptr.To[int32](1),
				Samples: &plimsollv1alpha1.MetricSamples{Counted: 2}}},
	} {
		a, w := onCPU(t, c.result)
		w.Status.Metrics = []observehorizontal.MetricValue{c.common}
		c.want.Name, c.want.Type = "cpu", "Resource"
		if diff := cmp.Diff([]plimsollv1alpha1.MetricStatus{c.want}, w.metrics(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMoves: changes that people wait for are written soon, possible noise once in a status interval.
func TestMoves(t *testing.T) {
	for name, c := range map[string]struct {
		result         metric.Result
		moves, clearly bool
	}{
		"nothing":                     {metric.Result{Percent: 40, Counts: two}, false, false},
		"less than the tolerance":     {metric.Result{Percent: 48, Counts: two}, false, false},
		"more than the tolerance":     {metric.Result{Percent: 49, Counts: two}, false, true},
		"the load has gone":           {metric.Result{Percent: 0, Counts: two}, false, true},
		"a pod is not ready":          {metric.Result{Percent: 40, Counts: metric.Counts{Counted: 1, Unready: 1}}, true, false},
		"no sample has come for long": {metric.Result{Percent: 40, Counts: two, At: noon.Add(-time.Hour)}, true, false},
		"another sample has come":     {metric.Result{Percent: 40, Counts: two, At: noon}, false, false},
		"values are awaited":          {metric.Result{Pending: true}, false, false},
	} {
		a, w := onCPU(t, c.result)
		w.Decision.Bounds.MinReplicas, w.Decision.Bounds.MaxReplicas = 1, 5
		a.Workload.Status.Limit, a.Workload.Status.Forecast = w.limit(), w.forecast()
		a.Workload.Status.LastScaleDecision = DecisionOf(w.Decision, 0, nil)
		if got := HasMoved(a, w); got != c.moves {
			t.Errorf("%s: has moved: %v", name, got)
		}
		if got := HasMovedClearly(a, w); got != c.clearly {
			t.Errorf("%s: has moved clearly: %v", name, got)
		}
	}
	a, w := onCPU(t, metric.Result{Percent: 40, Counts: two})
	w.Decision.Bounds.MinReplicas = 3
	if !HasMoved(a, w) || !HasMovedClearly(a, w) {
		t.Error("another minReplicas has not moved")
	}
	a.Workload.Status.Conditions = nil
	if !HasMoved(a, w) {
		t.Error("a status without the condition Ready has not moved")
	}
}

// TestMetricsInAnotherPlace: the metrics of the spec changed places, and one came between them. The entry of each stays
// with its name until it has another result.
func TestMetricsInAnotherPlace(t *testing.T) {
	spec := func(name string) plimsollv1alpha1.MetricSpec {
		return plimsollv1alpha1.MetricSpec{Name: name, Type: "External", External: &plimsollv1alpha1.ExternalMetricSource{
			Metric: plimsollv1alpha1.MetricIdentifier{Name: name},
			Target: plimsollv1alpha1.MetricTarget{Type: "Value", Value: resource.NewQuantity(5, resource.DecimalSI)},
		}}
	}
	shows := func(name string, value int64) plimsollv1alpha1.MetricStatus {
		return plimsollv1alpha1.MetricStatus{
			Name: name, Type: "External", Value: resource.NewQuantity(value, resource.DecimalSI), Replicas: ptr.To[int32](2),
		}
	}
	a := observehorizontal.WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{
		Spec: plimsollv1alpha1.WorkloadAutoscalerSpec{MaxReplicas: 5,
			Metrics: []plimsollv1alpha1.MetricSpec{spec("orders"), spec("new"), spec("jobs")}},
		Status: plimsollv1alpha1.WorkloadAutoscalerStatus{
			Metrics: []plimsollv1alpha1.MetricStatus{shows("jobs", 10), shows("orders", 20)}},
	})
	policy, _, refusal := observehorizontal.PolicyOf(a, observehorizontal.DefaultOptions())
	if refusal.Reason != "" {
		t.Fatal(refusal)
	}
	awaited := metric.Reading{Pending: true}
	for name, o := range map[string]horizontal.Observation{
		"the values are awaited": {Target: horizontal.Target{SpecReplicas: 2, StatusReplicas: 2},
			Readings: []metric.Reading{awaited, awaited, awaited}},
		"the scale cannot be read": {Target: horizontal.Target{Error: "no such Deployment"}},
	} {
		d, _ := horizontal.Decide(noon, &policy, horizontal.State{}, &o)
		report := statusreport.Of(&d, horizontal.Outcome{})
		common := observehorizontal.StatusAfter(a, &d, &report, noon)
		got := (&Decided{Status: &common, Policy: &policy, Decision: &d}).metrics(a)
		want := []plimsollv1alpha1.MetricStatus{shows("orders", 20), {Name: "new", Type: "External"}, shows("jobs", 10)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
