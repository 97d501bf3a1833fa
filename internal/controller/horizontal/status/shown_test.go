package status

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// The check without computing a status gives the same result as comparing the statuses.
func TestShownIsNotUrgent(t *testing.T) {
	var shown, news int
	rapid.Check(t, func(t *rapid.T) {
		hpa, decision := drawStatus(t), horizontal.Decision{}
		report := drawReport(t)
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			r := metric.Result{}
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				r.Failure = &source.Failure{}
			}
			decision.Metrics = append(decision.Metrics, r)
		}
		if rapid.Bool().Draw(t, "written") {
			// The status after the decision was reported, maybe with other numbers.
			written := observehorizontal.StatusAfter(observehorizontal.HPA(hpa), &decision, report, time.Unix(100, 0))
			hpa.Status = observehorizontal.StatusOfHPA(hpa, &written)
			report.Rescaled = false
		}
		a := observehorizontal.HPA(hpa)
		before, after := a.Status(), observehorizontal.StatusAfter(a, &decision, report, time.Unix(200, 0))
		is := observehorizontal.IsShown(a, &decision, report)
		want := !kubestatus.Urgent(&before, &after) && !kubestatus.Turned(&before, &after)
		if is != want {
			t.Fatalf("shown: %v, neither urgent nor turned: %v\n%+v\n%+v", is, want, hpa.Status, after)
		}
		if is {
			shown++
		} else {
			news++
		}
	})
	if shown == 0 || news == 0 {
		t.Errorf("%d statuses that say it already, %d that do not", shown, news)
	}
}

func drawStatus(t *rapid.T) *autoscalingv2.HorizontalPodAutoscaler {
	kinds := rapid.SampledFrom([]autoscalingv2.MetricSourceType{"Resource", "External"})
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Generation = 2
	for range rapid.IntRange(0, 2).Draw(t, "specs") {
		m := autoscalingv2.MetricSpec{Type: kinds.Draw(t, "type"), Resource: &autoscalingv2.ResourceMetricSource{},
			External: &autoscalingv2.ExternalMetricSource{}}
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, m)
	}
	s := &hpa.Status
	if rapid.Bool().Draw(t, "observed") {
		generation := rapid.Int64Range(1, 2).Draw(t, "generation")
		s.ObservedGeneration = &generation
	}
	s.CurrentReplicas, s.DesiredReplicas = rapid.Int32Range(1, 2).Draw(t, "current"),
		rapid.Int32Range(1, 2).Draw(t, "desired")
	for _, kind := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"AbleToScale", "ScalingActive",
		"Foreign"}), 0, 3, rapid.ID).Draw(t, "conditions") {
		s.Conditions = append(s.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type:   autoscalingv2.HorizontalPodAutoscalerConditionType(kind),
			Status: rapid.SampledFrom([]corev1.ConditionStatus{"True", "False", "Unknown"}).Draw(t, "status"),
			Reason: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "reason"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "metrics") {
		s.CurrentMetrics = append(s.CurrentMetrics, autoscalingv2.MetricStatus{Type: kinds.Draw(t, "type")})
	}
	return hpa
}

func drawReport(t *rapid.T) *statusreport.Report {
	r := &statusreport.Report{
		Counts: rapid.Bool().Draw(t, "counts"), CurrentReplicas: rapid.Int32Range(1, 2).Draw(t, "current"),
		ShowMetrics: rapid.Bool().Draw(t, "show"), Rescaled: rapid.IntRange(0, 3).Draw(t, "rescaled") == 0,
	}
	if rapid.Bool().Draw(t, "wanted") {
		desired := rapid.Int32Range(1, 2).Draw(t, "desired")
		r.DesiredReplicas = &desired
	}
	for _, kind := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"AbleToScale", "ScalingActive"}), 0, 2,
		rapid.ID).Draw(t, "conditions") {
		r.Conditions = append(r.Conditions, condition.Condition{Type: kind,
			Status:       condition.StatusOf(rapid.Bool().Draw(t, "true")),
			Reason:       rapid.SampledFrom([]string{"A", "B"}).Draw(t, "reason"),
			Transitioned: rapid.IntRange(0, 3).Draw(t, "moved") == 0})
	}
	return r
}
