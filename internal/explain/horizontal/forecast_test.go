package horizontal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
)

// forecastDocument is a step a minute before the jump of each day, with a load for two pods.
const forecastDocument = `apiVersion: v1
kind: List
items:
- apiVersion: plimsoll.dev/v1alpha1
  kind: WorkloadAutoscaler
  metadata: {name: web, namespace: shop}
  spec:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    maxReplicas: 20
    metrics:
      - name: queue
        type: External
        external:
          metric: {name: queue}
          target: {type: AverageValue, averageValue: "10"}
    forecast: {mode: Active}
- apiVersion: autoscaling/v1
  kind: Scale
  metadata: {name: web, namespace: shop}
  spec: {replicas: 2}
  status: {replicas: 2, selector: app=web}
- apiVersion: external.metrics.k8s.io/v1beta1
  kind: ExternalMetricValueList
  items: [{metricName: queue, metricLabels: {}, value: "20", timestamp: "2026-11-20T11:59:00Z"}]
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T11:59:00Z"`

// jumps returns a forecast after three days with a load for ten pods from noon to one o'clock, and for two otherwise.
func jumps(until time.Time) *forecast.State {
	s := forecast.New()
	settings := forecast.Settings{Mode: forecast.Active, WasteLimitPercent: 3, Price: 10}
	for at := until.AddDate(0, 0, -3); at.Before(until); at = at.Add(30 * time.Second) {
		pods := 2.0
		if at.Hour() == 12 {
			pods = 10
		}
		s.Observe(&settings, &forecast.Input{
			Now: at, MinReplicas: 1, MaxReplicas: 20, Tolerance: .1,
			Load: forecast.Load{Pods: pods, PerPodMilli: 10_000, Full: 1.5, IsKnown: true},
		})
	}
	return s
}

// TestEvaluateForecast: a decision that a forecast raised is the same when replayed from its snapshot, with its reason.
func TestEvaluateForecast(t *testing.T) {
	step := stepOf(t, forecastDocument)
	step.Snapshot.State = &horizontal.State{Version: horizontal.StateVersion, Forecast: jumps(step.Snapshot.Time)}
	at := step.Snapshot.Time
	step = again(t, step)
	step.Snapshot.Time = at
	result, _, err := Evaluate(step, horizontal.State{}, divergence.Default)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := result.WriteText(&text, Style{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"scale from 2 to 4: forecast of the load of earlier days", "raised         to 7, by the forecast",
		"decided by     metrics, and a forecast of more", "asks for 7: 0.7 × the load of 10 pods at the target",
		"pods take 30 s to be ready",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &text)
		}
	}
	if d := &result.Decision; d.ForecastReplicas != 7 || d.Desired != 4 {
		t.Errorf("the forecast proposes %d, and the decision is %d, which the rate permits\n%s", d.ForecastReplicas,
			d.Desired, &text)
	}
}

// TestShownForecast: without the controller's history, the status has what the forecast asks for, up to which the count
// may come.
func TestShownForecast(t *testing.T) {
	step := stepOf(t, forecastDocument)
	asks := step.Scale.Spec.Replicas + 3
	step.Workload.Status.Forecast = &plimsollv1alpha1.ForecastStatus{
		Mode: plimsollv1alpha1.ForecastActive, Reason: "InUse", Replicas: &asks,
	}
	policy := step.Policy(step.Snapshot.Options.Flags())
	e, err := WithoutHistory(step, &historybounds.Known{
		Autoscaler: step.Autoscaler(), Policy: &policy, Current: step.Scale.Spec.Replicas, Period: 15 * time.Second,
		Divergences: divergence.Default,
	}, "the controller does not answer")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteText(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("the forecast asks for %d (from the object's status).", asks), fmt.Sprintf("to %d replicas, depending on", asks),
		fmt.Sprintf("  forecast       asks for %d, as the object's status says", asks),
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
}
