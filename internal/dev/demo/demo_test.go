package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

func TestComputedIsTheDocumentedFormula(t *testing.T) {
	for name, c := range map[string]struct {
		load float64
		want int32
		why  string
	}{
		"calm":      {baseLoad, 1, "5.7/s cost 28.5m of one replica's 50m"},
		"surge":     {peakLoad, 6, "57/s cost 285m: 5.7 replicas' worth, rounded up"},
		"exact":     {20, 2, "20/s cost exactly two replicas' 100m"},
		"no load":   {0, minReplicas, "never below min"},
		"above max": {1000, maxReplicas, "never above max"},
	} {
		if got := Computed(c.load); got != c.want {
			t.Errorf("%s: Computed(%g) = %d, want %d: %s", name, c.load, got, c.want, c.why)
		}
	}
}

func TestPlanNeedsTimeToScaleDown(t *testing.T) {
	if _, err := NewPlan(30 * time.Second); err == nil || !strings.Contains(err.Error(), "DEMO_SECONDS=120") {
		t.Errorf("a plan of 30 s: %v, want an error that says what to set", err)
	}
	plan, err := NewPlan(180 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	loads := []float64{plan.Load(0), plan.Load(plan.Rise), plan.Load(plan.Fall - 1), plan.Load(plan.Fall)}
	if diff := cmp.Diff([]float64{baseLoad, peakLoad, peakLoad, baseLoad}, loads); diff != "" {
		t.Errorf("loads at the steps (-want +got):\n%s", diff)
	}
	// After the fall: a scrape and its window, the stabilization, a decision.
	if left := plan.Total - plan.Fall; left < plan.Stabilization+45*time.Second {
		t.Errorf("%s after the fall are too few for a window of %s and the metrics' lag", left, plan.Stabilization)
	}
}

func TestSummaryFailsUnlessAsComputed(t *testing.T) {
	plan, err := NewPlan(180 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	up := ScaleEvent{Time: began.Add(70 * time.Second), ElapsedSeconds: 25, From: 1, To: 5, Reason: "cpu above target"}
	samples := func(counts ...int32) []Sample {
		var all []Sample
		for i, n := range counts {
			all = append(all, Sample{Elapsed: time.Duration(i+1) * plan.Fall / 4, Wanted: n})
		}
		return all
	}
	for name, c := range map[string]struct {
		samples []Sample
		scales  []ScaleEvent
		want    []string
	}{
		"as computed":  {samples(1, 5, 6, 1), []ScaleEvent{up}, nil},
		"overshoot":    {samples(5, 7, 6, 1), []ScaleEvent{up}, nil},
		"too high":     {samples(1, 5, 9, 1), []ScaleEvent{up}, []string{"held 9 replicas under the surge, computed are 6"}},
		"never scaled": {samples(1, 1, 1, 1), nil, []string{"held 1 replicas under the surge, computed are 6"}},
		"stays up":     {samples(1, 5, 6, 6), []ScaleEvent{up}, []string{"ended at 6 replicas, computed are 1"}},
		"no reason":    {samples(1, 5, 6, 1), []ScaleEvent{{From: 1, To: 6}}, []string{"the scaling 1 -> 6 has no reason"}},
	} {
		s := summarize(plan, began, c.samples, c.scales)
		if diff := cmp.Diff(c.want, s.Failures); diff != "" {
			t.Errorf("%s: failures (-want +got):\n%s", name, diff)
		}
	}
	s := summarize(plan, began, samples(1, 5, 6, 1), []ScaleEvent{up})
	if s.LoadToFirstScaleUpSeconds != 10 || s.StartToFirstScaleUpSeconds != 70 {
		t.Errorf("first scale-up %g s after the load, %g s after the start, want 10 and 70",
			s.LoadToFirstScaleUpSeconds, s.StartToFirstScaleUpSeconds)
	}
}

func TestSummaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo-summary.json")
	want := Summary{ComputedSurge: 6, Surge: 6, Scales: []ScaleEvent{{From: 1, To: 8, Reason: "load"}}}
	if err := want.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got Summary
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestEventsBecomeScalings(t *testing.T) {
	o := &observer{began: time.Now()}
	got, ok := o.parse(&corev1.Event{Message: "New size: 5; reason: cpu resource utilization above target"}, 1)
	if !ok || got.From != 1 || got.To != 5 || got.Reason != "cpu resource utilization above target" {
		t.Errorf("parsed %+v, %t", got, ok)
	}
	if _, ok := o.parse(&corev1.Event{Message: "New size: many"}, 1); ok {
		t.Error("an event without a size was taken for a scaling")
	}
}

// A WorkloadAutoscaler gets the HPA's spec, and its status is read as the HPA's is.
func TestWorkloadAutoscalerHasTheSpecOfTheHPA(t *testing.T) {
	var stored *plimsollv1alpha1.WorkloadAutoscaler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			stored = &plimsollv1alpha1.WorkloadAutoscaler{}
			if err := json.NewDecoder(r.Body).Decode(stored); err != nil {
				t.Error(err)
			}
			stored.Status = plimsollv1alpha1.WorkloadAutoscalerStatus{
				CurrentMetrics: []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType,
					Resource: &autoscalingv2.ResourceMetricStatus{
						Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr.To[int32](90)},
					}}},
				Conditions: []metav1.Condition{{Type: "ScalingActive", Status: "True", Reason: "ValidMetricFound", Message: "fine"}},
				Proposals:  []plimsollv1alpha1.Proposal{{Source: "Metric", Name: "cpu", Replicas: ptr.To[int32](6)}},
				Limit:      &plimsollv1alpha1.Limit{Name: "ScaleUpRate", Message: "permits 4"},
			}
		}
		if err := json.NewEncoder(w).Encode(stored); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	o, err := newObserver(&rest.Config{Host: server.URL}, WorkloadAutoscaler)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(180 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.autoscalers.create(t.Context(), autoscalerSpec(plan)); err != nil {
		t.Fatal(err)
	}
	want, got := autoscalerSpec(plan), observehorizontal.WorkloadAutoscaler(stored).Spec
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if err := o.awaitMetric(t.Context()); err != nil {
		t.Error(err)
	}
	s, err := o.autoscalers.status(t.Context())
	if err != nil || ptr.Deref(s.percent(), 0) != 90 {
		t.Errorf("status %+v, %v", s, err)
	}
	if diff := cmp.Diff([]string{"proposals: Metric cpu 6 ", "limit: ScaleUpRate permits 4"}, s.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestExplainNamesTheObject(t *testing.T) {
	for kind, want := range map[Kind]string{HPA: " explain hpa/web -n shop ", WorkloadAutoscaler: " explain wla/web -n shop "} {
		line, err := Explain{Program: "plimsoll", Kubeconfig: "k", Kind: kind, Inspection: "127.0.0.1:8082"}.Line()
		if err != nil || !strings.Contains(line, want) || !strings.HasSuffix(line, "--controller-port=8082") {
			t.Errorf("%s: %q, %v", kind, line, err)
		}
	}
}

func TestLinesPrintEachScalingOnce(t *testing.T) {
	r := &record{}
	r.sample(Sample{Load: 75, Wanted: 5, Ready: 4, Percent: ptr.To[int32](90)})
	r.scaled(ScaleEvent{From: 1, To: 5, Reason: "because"})
	ctx, cancel := context.WithTimeout(t.Context(), 3*refresh)
	defer cancel()
	var out bytes.Buffer
	if err := (lines{out: &out}).run(ctx, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "SCALED     1 -> 5  because"); n != 1 {
		t.Errorf("the scaling is printed %d times, want once:\n%s", n, out.String())
	}
	if !strings.Contains(out.String(), "replicas  5 wanted  4 ready  cpu  90% of 50%") {
		t.Errorf("no line of the sample:\n%s", out.String())
	}
}

func TestScreenShowsEverything(t *testing.T) {
	r := &record{}
	r.sample(Sample{Load: 75, Wanted: 5, Ready: 4, Conditions: []string{"ScalingActive ValidMetricFound: fine"},
		Status: []string{"limit: ScaleUpRate"}})
	r.scaled(ScaleEvent{From: 1, To: 5, Reason: "because"})
	got := screen{record: r, total: time.Minute}.View().Content
	for _, want := range []string{"75 requests/s", "5 wanted, 4 ready", "████·", "1 -> 5  because", "ValidMetricFound",
		"limit: ScaleUpRate"} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen lacks %q:\n%s", want, got)
		}
	}
}
