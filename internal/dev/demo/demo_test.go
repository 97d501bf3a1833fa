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
	"k8s.io/apimachinery/pkg/api/resource"
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
	up := ScaleEvent{Time: began.Add(70 * time.Second), ElapsedSeconds: 25, Workload: "web", From: 1, To: 5,
		Reason: "cpu above target"}
	other := up
	other.Workload, other.ElapsedSeconds = "api", 17
	samples := func(counts ...int32) []Sample {
		var all []Sample
		for i, n := range counts {
			// The other workload does what it should.
			right := []int32{1, 6, 6, 1}[i]
			all = append(all, Sample{Elapsed: time.Duration(i+1) * plan.Fall / 4, Workloads: []WorkloadSample{
				{Name: "web", Wanted: n}, {Name: "api", Wanted: right},
			}})
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
		"too high":     {samples(1, 5, 9, 1), []ScaleEvent{up}, []string{"web: held 9 replicas under the surge, computed are 6"}},
		"never scaled": {samples(1, 1, 1, 1), nil, []string{"web: held 1 replicas under the surge, computed are 6"}},
		"stays up":     {samples(1, 5, 6, 6), []ScaleEvent{up}, []string{"web: ended at 6 replicas, computed are 1"}},
		"no reason": {samples(1, 5, 6, 1), []ScaleEvent{{Workload: "api", From: 1, To: 6}},
			[]string{"api: the scaling 1 -> 6 has no reason"}},
	} {
		s := summarize(plan, began, c.samples, c.scales)
		if diff := cmp.Diff(c.want, s.Failures); diff != "" {
			t.Errorf("%s: failures (-want +got):\n%s", name, diff)
		}
	}
	s := summarize(plan, began, samples(1, 5, 6, 1), []ScaleEvent{other, up})
	if w := s.Workloads[0]; w.LoadToFirstScaleUpSeconds != 10 || w.StartToFirstScaleUpSeconds != 70 {
		t.Errorf("first scale-up %g s after the load, %g s after the start, want 10 and 70",
			w.LoadToFirstScaleUpSeconds, w.StartToFirstScaleUpSeconds)
	}
	if w := s.Workloads[1]; w.LoadToFirstScaleUpSeconds != 2 {
		t.Errorf("first scale-up of the other %g s after the load, want 2", w.LoadToFirstScaleUpSeconds)
	}
}

func TestSummaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo-summary.json")
	want := Summary{
		Workloads: []WorkloadSummary{{Name: "web", ComputedSurge: 6, Surge: 6}},
		Scales:    []ScaleEvent{{Workload: "web", From: 1, To: 8, Reason: "load"}},
	}
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
	combined := &corev1.Event{Message: "(combined from similar events): New size: 6; reason: All metrics below target"}
	if got, ok := o.parse(combined, 7); !ok || got.From != 7 || got.To != 6 || got.Reason != "All metrics below target" {
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
				Metrics: []plimsollv1alpha1.MetricStatus{{
					Name: "cpu", Type: "Resource", AverageUtilization: ptr.To[int32](90), Replicas: ptr.To[int32](6),
				}},
				Conditions: []metav1.Condition{{Type: "ScalingActive", Status: "True", Reason: "ValidMetricFound", Message: "fine"}},
				Proposals:  []plimsollv1alpha1.Proposal{{Source: "Surge", Name: "cpu", Replicas: 7}},
				Limit:      &plimsollv1alpha1.Limit{Reason: "ScaleUpRate", Message: "permits 4"},
			}
		}
		if err := json.NewEncoder(w).Encode(stored); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	o, err := newObserver(config)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(180 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	workloads, err := o.workloads(Config{REST: config, Plan: plan, Kind: WorkloadAutoscaler, PodMetricsPort: 23456})
	if err != nil {
		t.Fatal(err)
	}
	if err := workloads[0].autoscaler.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: stored.ObjectMeta, Spec: autoscalerSpec(plan)}
	want, _, _ := observehorizontal.PolicyOf(observehorizontal.HPA(hpa), observehorizontal.DefaultOptions())
	got, _, refusal := observehorizontal.PolicyOf(observehorizontal.WorkloadAutoscaler(stored),
		observehorizontal.DefaultOptions())
	got.WorkloadAutoscaler, got.Metrics[0].GivenName = nil, ""
	if diff := cmp.Diff(want, got); diff != "" || refusal.Reason != "" {
		t.Errorf("%s, policy (-want +got):\n%s", refusal.Message, diff)
	}
	if err := o.awaitMetrics(t.Context(), workloads[:1]); err != nil {
		t.Error(err)
	}
	s, err := workloads[0].autoscaler.status(t.Context())
	if err != nil || workloads[0].metric(s) != "cpu  90% of 50%" {
		t.Errorf("status %+v, %v", s, err)
	}
	if diff := cmp.Diff([]string{"metrics: cpu 6", "proposals: Surge cpu 7", "limit: ScaleUpRate permits 4"}, s.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// The second workload has the spec of the first but for its metric, which the pods serve.
func TestRequestsSpec(t *testing.T) {
	plan, err := NewPlan(180 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := requestsSpec(plan, 23456)
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Metrics) != 1 || spec.Metrics[0].PodEndpoint.Port.IntValue() != 23456 || spec.MaxReplicas != maxReplicas ||
		*spec.Behavior.ScaleDown.StabilizationWindowSeconds != int32(plan.Stabilization.Seconds()) {
		t.Errorf("spec %+v", spec)
	}
	shown := status{value: autoscalingv2.MetricValueStatus{
		AverageValue: resource.NewMilliQuantity(9512, resource.DecimalSI),
	}}
	for want, s := range map[string]status{" 9.5/s of 10/s": shown, "   ?/s of 10/s": {}} {
		if got := s.perPod(); got != want {
			t.Errorf("the metric is shown as %q, want %q", got, want)
		}
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
	r.sample(Sample{Load: 75, Workloads: []WorkloadSample{{Name: "web", Wanted: 5, Ready: 4, Metric: "cpu  90% of 50%"}}})
	r.scaled(ScaleEvent{Workload: "web", From: 1, To: 5, Reason: "because"})
	ctx, cancel := context.WithTimeout(t.Context(), 3*refresh)
	defer cancel()
	var out bytes.Buffer
	if err := (lines{out: &out}).run(ctx, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "SCALED    web  1 -> 5  because"); n != 1 {
		t.Errorf("the scaling is printed %d times, want once:\n%s", n, out.String())
	}
	if !strings.Contains(out.String(), "| web  5 wanted  4 ready  cpu  90% of 50%") {
		t.Errorf("no line of the sample:\n%s", out.String())
	}
}

func TestScreenShowsEverything(t *testing.T) {
	r := &record{}
	r.sample(Sample{Load: 75, Workloads: []WorkloadSample{
		{Name: "web", Wanted: 5, Ready: 4, Conditions: []string{"ScalingActive ValidMetricFound: fine"}},
		{Name: "api", Wanted: 2, Ready: 2, Metric: "9.5/s of 10/s", Status: []string{"limit: ScaleUpRate"}},
	}})
	r.scaled(ScaleEvent{Workload: "api", From: 1, To: 5, Reason: "because"})
	got := screen{total: time.Minute}.draw(r)
	for _, want := range []string{"75 requests/s each", "web   5 wanted,  4 ready", "████·", "api  1 -> 5  because", "ValidMetricFound",
		"limit: ScaleUpRate", "9.5/s of 10/s", "api wanted"} {
		if !strings.Contains(got, want) {
			t.Errorf("the screen lacks %q:\n%s", want, got)
		}
	}
}

// A line more than the terminal has would scroll, and what is drawn next would begin in the middle.
func TestFrameFitsTheTerminal(t *testing.T) {
	for height, want := range map[int]string{
		0: "\x1b[Ha\x1b[K\r\nb\x1b[K\r\nc\x1b[K\r\n\x1b[0J",
		3: "\x1b[Ha\x1b[K\r\nb\x1b[K\r\n\x1b[0J",
	} {
		if got := frame("a\nb\nc\n", height); got != want {
			t.Errorf("%d lines: %q, want %q", height, got, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := (screen{out: &out}).run(ctx, &record{}); err != nil || !strings.HasSuffix(out.String(), wrapLines+showCursor) {
		t.Errorf("the terminal is left as it was: %q, %v", out.String(), err)
	}
}
