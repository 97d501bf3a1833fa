package workloadstatus

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

type spec = plimsollv1alpha1.WorkloadAutoscalerSpec

// statusOf returns the status after a decision for a target of three replicas, with one job for each as the target.
func statusOf(
	change func(*spec), jobs metric.Reading, see func(*horizontal.Observation),
) plimsollv1alpha1.WorkloadAutoscalerStatus {
	one := resource.MustParse("1")
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: spec{
		MinReplicas: ptr.To[int32](2), MaxReplicas: 9, Metrics: []plimsollv1alpha1.MetricSpec{{
			Type: "External", External: &plimsollv1alpha1.ExternalMetricSource{
				Metric: plimsollv1alpha1.MetricIdentifier{Name: "jobs"},
				Target: plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: &one},
			},
		}},
	}}
	change(&object.Spec)
	a := observehorizontal.WorkloadAutoscaler(object)
	policy, _, refusal := observehorizontal.PolicyOf(a, observehorizontal.DefaultOptions())
	o := horizontal.Observation{
		Target:   horizontal.Target{SpecReplicas: 3, StatusReplicas: 3},
		Readings: []metric.Reading{jobs}, Refusal: refusal,
	}
	see(&o)
	d, _ := horizontal.Decide(noon, &policy, horizontal.State{}, &o)
	report := statusreport.Of(&d, horizontal.Outcome{At: noon})
	common := observehorizontal.StatusAfter(a, &d, &report, noon)
	return Of(a, &Decided{Status: &common, Policy: &policy, Decision: &d})
}

func jobs(n int64) metric.Reading { return metric.Reading{Series: []int64{1000 * n}} }

// TestWhy: the text of the column WHY is plain.
func TestWhy(t *testing.T) {
	unchanged, asUsual := func(*spec) {}, func(*horizontal.Observation) {}
	withMode := func(m plimsollv1alpha1.Mode, paused *int32) func(*spec) {
		return func(s *spec) {
			if s.Mode = m; paused != nil {
				s.Paused = &plimsollv1alpha1.Paused{Replicas: *paused}
			}
		}
	}
	besideHPA := func(o *horizontal.Observation) {
		o.Refusal = horizontal.Refusal{Reason: statusreport.AnotherAutoscaler, Message: "HPA shop/web",
			Summary: "waits for HPA web"}
	}
	down := metric.Reading{Error: "no such server"}
	contradicting := func(s *spec) {
		s.Schedules = []plimsollv1alpha1.Schedule{
			{Name: "office", Start: "@daily", DurationSeconds: ptr.To[int32](86400), MinReplicas: ptr.To[int32](8)},
			{Name: "freeze", Start: "@daily", DurationSeconds: ptr.To[int32](86400), MaxReplicas: ptr.To[int32](4)},
		}
	}
	for want, c := range map[string]struct {
		change func(*spec)
		jobs   metric.Reading
		see    func(*horizontal.Observation)
		ready  string
	}{
		"jobs":                           {unchanged, jobs(5), asUsual, "True Active"},
		"jobs within tolerance":          {unchanged, jobs(3), asUsual, "True Active"},
		"at maxReplicas":                 {func(s *spec) { s.MaxReplicas = 5 }, jobs(6), asUsual, "True Active"},
		"max of schedule freeze":         {contradicting, jobs(1), asUsual, "True Active"},
		"cannot read jobs":               {unchanged, down, asUsual, "False FailedGetExternalMetric"},
		"paused":                         {withMode("Paused", nil), down, asUsual, "True Paused"},
		"paused at 7":                    {withMode("Paused", ptr.To[int32](7)), jobs(1), asUsual, "True Paused"},
		"preview: jobs":                  {withMode("Preview", nil), jobs(5), asUsual, "True Preview"},
		"preview: jobs within tolerance": {withMode("Preview", nil), jobs(3), besideHPA, "True Preview"},
		"waits for HPA web":              {unchanged, jobs(5), besideHPA, "False TargetHasAnotherAutoscaler"},
		"the spec is invalid":            {withMode("Unheard", nil), jobs(5), asUsual, "False InvalidSpec"},
		"cannot read the target's scale": {unchanged, jobs(5), func(o *horizontal.Observation) {
			o.Target.Error = "not found"
		}, "False FailedGetScale"},
		"InvalidSelector": {unchanged, jobs(5), func(o *horizontal.Observation) {
			o.Target.Selector = podselector.Selector{Problem: podselector.Missing}
		}, "False InvalidSelector"},
		"maintenance (0 replicas)": {unchanged, jobs(5), func(o *horizontal.Observation) {
			o.Target.SpecReplicas = 0
		}, "True ScalingDisabled"},
	} {
		status := statusOf(c.change, c.jobs, c.see)
		if status.Summary.Reason != want {
			t.Errorf("%q, want %q", status.Summary.Reason, want)
		}
		if ready := status.Conditions[0]; ready.Type != "Ready" || string(ready.Status)+" "+ready.Reason != c.ready {
			t.Errorf("%s: Ready is %+v, want %s", want, ready, c.ready)
		}
	}
	besideUnread := statusOf(unchanged, jobs(5), func(o *horizontal.Observation) {
		besideHPA(o)
		o.Target.Error = "not found"
	})
	if why := besideUnread.Summary.Reason; why != "cannot read the target's scale" {
		t.Errorf("an unreadable target beside an HPA: %q", why)
	}
}

// TestWhyFits: whatever the reason, and however long the names, the columns WHY and METRICS keep the width with which a
// line of kubectl get fits in 120.
func TestWhyFits(t *testing.T) {
	unchanged, asUsual := func(*spec) {}, func(*horizontal.Observation) {}
	long := strings.Repeat("n", 63)
	named := func(change func(*spec)) func(*spec) {
		return func(s *spec) {
			s.Metrics[0].Name = long
			change(s)
		}
	}
	refused := func(reason, summary string) func(*horizontal.Observation) {
		return func(o *horizontal.Observation) {
			o.Refusal = horizontal.Refusal{Reason: reason, Message: "why", Summary: summary}
		}
	}
	waiting := func(name string) func(*horizontal.Observation) {
		return refused(statusreport.AnotherAutoscaler, "waits for HPA "+name)
	}
	selector := func(p podselector.Problem) func(*horizontal.Observation) {
		return func(o *horizontal.Observation) { o.Target.Selector = podselector.Selector{Problem: p} }
	}
	scheduled := func(s *spec) {
		s.Schedules = []plimsollv1alpha1.Schedule{
			{Name: long, Start: "@daily", DurationSeconds: ptr.To[int32](86400), MinReplicas: ptr.To[int32](8)},
		}
	}
	withMode := func(m plimsollv1alpha1.Mode) func(*spec) { return func(s *spec) { s.Mode = m } }
	paused := func(s *spec) {
		s.Mode, s.MaxReplicas = plimsollv1alpha1.ModePaused, plimsollv1alpha1.MostReplicas
		s.Paused = &plimsollv1alpha1.Paused{Replicas: plimsollv1alpha1.MostReplicas}
	}
	failing := func(s *spec) {
		s.Metrics[0].Fallback = &plimsollv1alpha1.Fallback{
			Replicas: ptr.To[int32](4), FailureDurationSeconds: ptr.To[int32](0),
		}
	}
	down := metric.Reading{Error: "no such server"}
	for name, c := range map[string]struct {
		change func(*spec)
		jobs   metric.Reading
		see    func(*horizontal.Observation)
	}{
		"InvalidSpec":            {withMode("Unheard"), jobs(5), asUsual},
		"AnotherAutoscaler":      {unchanged, jobs(5), waiting(strings.Repeat("h", 253))},
		"a refusal of one word":  {unchanged, jobs(5), refused(strings.Repeat("R", 64), "")},
		"a preview beside it":    {withMode(plimsollv1alpha1.ModePreview), jobs(5), waiting("web")},
		"no scale":               {unchanged, jobs(5), func(o *horizontal.Observation) { o.Target.Error = "not found" }},
		"no selector":            {unchanged, jobs(5), selector(podselector.Missing)},
		"an invalid selector":    {unchanged, jobs(5), selector(podselector.Invalid)},
		"an ambiguous selector":  {unchanged, jobs(5), selector(podselector.Ambiguous)},
		"a metric":               {unchanged, jobs(5), asUsual},
		"within tolerance":       {unchanged, jobs(3), asUsual},
		"a metric that fails":    {unchanged, down, asUsual},
		"a fallback":             {failing, down, asUsual},
		"a preview":              {withMode(plimsollv1alpha1.ModePreview), jobs(5), asUsual},
		"a pause":                {withMode(plimsollv1alpha1.ModePaused), jobs(5), asUsual},
		"a pause at a count":     {paused, jobs(5), asUsual},
		"a schedule":             {scheduled, jobs(1), asUsual},
		"the bounds":             {func(s *spec) { s.MaxReplicas = 4 }, jobs(9), asUsual},
		"no replicas by another": {unchanged, jobs(5), func(o *horizontal.Observation) { o.Target.SpecReplicas = 0 }},
	} {
		shown := statusOf(named(c.change), c.jobs, c.see).Summary
		if shown.Reason == "" || len(shown.Reason) > widestWhy || len(shown.Metrics) > widestMetrics {
			t.Errorf("%s: %q of %d columns, %q of %d", name, shown.Reason, len(shown.Reason), shown.Metrics, len(shown.Metrics))
		}
	}
}

// TestWhyOfPods: the column WHY says what the pods lack for which values are assumed.
func TestWhyOfPods(t *testing.T) {
	one := resource.MustParse("1")
	ofCPU := func(s *spec) {
		s.Metrics = []plimsollv1alpha1.MetricSpec{{Type: "Resource", Resource: &plimsollv1alpha1.ResourceMetricSource{
			Name: "cpu", Target: plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: &one},
		}}}
	}
	pod := metric.Pod{
		Phase: metric.PhaseRunning, Ready: metric.ReadyTrue, StartTime: noon.Add(-time.Hour),
		ReadyTransition: noon.Add(-time.Hour),
	}
	pending := metric.Pod{Phase: metric.PhasePending, Ready: metric.ReadyFalse}
	used := metric.Sample{Present: true, Milli: 2000, At: noon, Window: time.Minute}
	for want, third := range map[string]metric.Pod{"pods without samples": pod, "starting pods": pending} {
		status := statusOf(ofCPU, metric.Reading{Samples: []metric.Sample{used, used, {}}}, func(o *horizontal.Observation) {
			o.Pods = []metric.Pod{pod, pod, third}
		})
		if got := status.Summary.Reason; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDesiredBeforeTheFirstValue: the column WANTED has the count that stays while nothing could be read yet, not 0.
func TestDesiredBeforeTheFirstValue(t *testing.T) {
	none := func(*horizontal.Observation) {}
	status := statusOf(func(*spec) {}, metric.Reading{Error: "no such server"}, none)
	if status.CurrentReplicas != 3 || status.DesiredReplicas != 3 {
		t.Errorf("%d replicas and %d wanted, want 3 and 3", status.CurrentReplicas, status.DesiredReplicas)
	}
}
