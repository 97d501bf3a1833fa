package horizontal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// TestShortForm: the first line is the sentence that JSON has, and no more than six lines follow it.
func TestShortForm(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		in, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for reader := snapshothorizontal.NewReader(bytes.NewReader(in)); ; {
			step, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(shortForm(t, step) + "\n")
		}
	}
	golden(t, "testdata/short.txt", all.String())
}

// shortForm returns what is printed of a step, which is checked.
func shortForm(t *testing.T, step *snapshothorizontal.Step) string {
	t.Helper()
	e, err := Explain(step, divergence.Default, 15*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var text, encoded bytes.Buffer
	var out struct {
		Summary string `json:"summary"`
	}
	if err := errors.Join(e.WriteText(&text, Style{}), e.WriteJSON(&encoded)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	printed := len(lines)
	if strings.HasPrefix(lines[printed-1], "  left out ") {
		printed--
	}
	if lines[0] != out.Summary || printed > 1+mostNumbers {
		t.Errorf("%d lines, and %q in JSON:\n%s", len(lines), out.Summary, &text)
	}
	return text.String()
}

// TestLeftOut: the metrics that the six lines have no place for are counted.
func TestLeftOut(t *testing.T) {
	metrics := strings.Repeat("{type: External, external: {metric: {name: depth}, target: {type: AverageValue, averageValue: 10}}}, ", 7)
	text := strings.Replace(document, "maxReplicas: 5,", "maxReplicas: 5, metrics: ["+metrics+"],", 1)
	lines := strings.Split(shortForm(t, stepOf(t, text)), "\n")
	shown := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "  metric ") {
			shown++
		}
	}
	want := fmt.Sprintf("  left out       %d metrics; --verbose prints all", 7-shown)
	if !slices.Contains(lines, want) {
		t.Errorf("want %q:\n%s", want, strings.Join(lines, "\n"))
	}
}

// TestNoEarlierThan: the earliest scale-down is the same from one decision to the next as long as the input is.
func TestNoEarlierThan(t *testing.T) {
	texts := map[string]bool{}
	for _, clock := range []string{"12:00:00", "12:00:02", "12:00:09"} {
		text := strings.Replace(document, "12:00:00.123456789", clock, 1)
		text = strings.Replace(text, "maxReplicas: 5,", `maxReplicas: 5, metrics: [{type: External, external: {metric: {name: depth},
      target: {type: AverageValue, averageValue: 10}}}],`, 1) + `
- apiVersion: external.metrics.k8s.io/v1beta1
  kind: ExternalMetricValueList
  items: [{metricName: depth, metricLabels: {}, timestamp: "2026-11-20T` + clock + `Z", value: 20}]`
		e, err := Explain(stepOf(t, text), divergence.Default, 15*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		texts[e.lowerText()] = true
	}
	want := "no earlier than 5 min after the last decision that asks for 2 (stabilization window of scaleDown), even if the " +
		"load ends now"
	if len(texts) != 1 || !texts[want] {
		t.Errorf("%v, want %q", texts, want)
	}
}

// TestLimitedSince: the sentence has since when the object is at maxReplicas, which its status says.
func TestLimitedSince(t *testing.T) {
	in, err := os.ReadFile("testdata/behavior-defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	step, err := snapshothorizontal.NewReader(bytes.NewReader(in)).Next()
	if err != nil {
		t.Fatal(err)
	}
	step.HPA.Spec.MaxReplicas = step.Scale.Spec.Replicas
	step.HPA.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{
		Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionTrue, Reason: "TooManyReplicas",
		LastTransitionTime: metav1.NewTime(step.Snapshot.Time.Add(-168 * time.Minute)),
	}}
	e, err := Explain(step, divergence.Default, 15*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if want := "by maxReplicas since 09:12:00;"; !strings.Contains(e.Summary(), want) {
		t.Errorf("%q is missing in %s", want, e.Summary())
	}
}

// TestWithStatus: the sentence names the other writer of the count, which the status has, and the lines say which nodes
// cannot be read.
func TestWithStatus(t *testing.T) {
	in, err := os.ReadFile("testdata/behavior-defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	step, err := snapshothorizontal.NewReader(bytes.NewReader(in)).Next()
	if err != nil {
		t.Fatal(err)
	}
	step.HPA.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{
		Type: statusreport.ReplicasOverridden, Status: corev1.ConditionTrue,
		Message: statusreport.Overridden("kubectl-scale", "Deployment/web"),
	}}
	step.Snapshot.Samples = &snapshothorizontal.Samples{NodesUnread: "connection refused"}
	state := &horizontal.State{Version: horizontal.StateVersion}
	for i := range state.Overrides.Noticed {
		state.Overrides.Noticed[i] = step.Snapshot.Time.Add(-time.Duration(i) * time.Second)
	}
	step.Snapshot.State = state
	e, err := Explain(step, divergence.Default, 15*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteText(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"; kubectl-scale sets the replica count too.",
		"  samples        from metrics.k8s.io instead of the nodes: connection refused\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
}

// TestUnreadableMetric: the line of a metric has its selector as kubectl takes it.
func TestUnreadableMetric(t *testing.T) {
	r := Result{Policy: horizontal.Policy{Metrics: []source.Spec{{Type: source.External, Name: "queue"}}}}
	r.Decision.Metrics = []metric.Result{{Failure: &source.Failure{Message: "unable to get external metric shop/queue/" +
		"&LabelSelector{MatchLabels:map[string]string{service: jobs,},MatchExpressions:[]LabelSelectorRequirement{},}: down"}}}
	if got, want := r.metricLine(0), "queue: unable to get external metric shop/queue/service=jobs: down"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestHeldUp: a line says what keeps the count however low the load is, and there is none of what scales nothing.
func TestHeldUp(t *testing.T) {
	down := source.Failure{Message: "down"}
	metrics := []source.Spec{
		{Type: source.External, Name: "jobs"}, {Type: source.External, Name: "mails"},
	}
	for want, change := range map[string]func(*horizontal.Decision){
		"": func(*horizontal.Decision) {},
		"not while mails cannot be read": func(d *horizontal.Decision) {
			d.Metrics[1].Failure = &down
		},
		"not while no pod is ready": func(d *horizontal.Decision) { d.Metrics[0].Verdict = metric.NothingReady },
		"not before mails has a value": func(d *horizontal.Decision) {
			d.Metrics[1].Pending = true
		},
		"not while jobs cannot be read and its fallback asks for 6": func(d *horizontal.Decision) {
			d.Metrics[0].Failure, d.Fallbacks.Active = &down, []fallback.Active{{Metric: 0, Replicas: 6}}
			d.Policy.Metrics[0].Fallback = source.Fallback{Replicas: 6}
		},
		"not while jobs cannot be read and its fallback keeps the current count, at least 2": func(d *horizontal.Decision) {
			d.Metrics[0].Failure, d.Fallbacks.Active = &down, []fallback.Active{{Metric: 0, Replicas: 6}}
			d.Policy.Metrics[0].Fallback = source.Fallback{Replicas: 2, Policy: source.CurrentReplicasIfHigher}
		},
		"not while the forecast asks for 6": func(d *horizontal.Decision) { d.ForecastReplicas = 6 },
	} {
		e := Explanation{}
		e.Policy.Metrics = slices.Clone(metrics)
		e.Decision = horizontal.Decision{
			Branch: horizontal.BranchMetrics, Current: 6, Desired: 6, Policy: &e.Policy, Metrics: make([]metric.Result, 2),
		}
		change(&e.Decision)
		if got := e.lowerText(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if by, _ := projection.HeldUpBy(&e.Decision); (by == proposal.None) != (want == "") {
			t.Errorf("%q is held by %s", want, by)
		}
		e.Decision.Bounds.MinReplicas = 6
		if got := e.lowerText(); got != "" {
			t.Errorf("at minReplicas: %s", got)
		}
	}
	e := Explanation{Projection: projection.Projection{Lower: &projection.Step{}}}
	e.Decision.Refusal.Reason = statusreport.AnotherAutoscaler
	if got := e.lowerText(); got != "" {
		t.Errorf("beside another autoscaler: %s", got)
	}
}
