package explained

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// planned is a WorkloadAutoscaler half an hour before a schedule, with a queue for two pods.
const planned = `apiVersion: v1
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
    schedules:
      - {name: lunch, start: "0 12 * * *", durationSeconds: 3600, minReplicas: 5}
- apiVersion: autoscaling/v1
  kind: Scale
  metadata: {name: web, namespace: shop}
  spec: {replicas: 2}
  status: {replicas: 2, selector: app=web}
- apiVersion: external.metrics.k8s.io/v1beta1
  kind: ExternalMetricValueList
  items: [{metricName: queue, metricLabels: {}, value: "20", timestamp: "2026-11-20T11:30:00Z"}]
- apiVersion: plimsoll.dev/v1alpha1
  kind: Snapshot
  metadata: {name: web, namespace: shop}
  time: "2026-11-20T11:30:00Z"`

// learnt returns a forecast after days with a load for ten pods from noon to one o'clock, and for two otherwise.
func learnt(days int, until time.Time) *forecast.State {
	s := forecast.New()
	settings := forecast.Settings{Mode: forecast.Active, WasteLimitPercent: 3, Price: 10}
	for at := until.AddDate(0, 0, -days); at.Before(until); at = at.Add(30 * time.Second) {
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

func objectOf(t *testing.T, days int) *view.Object {
	t.Helper()
	step, err := snapshothorizontal.NewReader(strings.NewReader(planned)).Next()
	if err != nil {
		t.Fatal(err)
	}
	now := step.Snapshot.Time
	step.Snapshot.State = &horizontal.State{Forecast: learnt(days, now)}
	e, err := explainhorizontal.Explain(step, divergence.Default, 15*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	o := &view.Object{Until: now.Add(2 * time.Hour).UnixMilli()}
	AddHorizontal(o, e, now.Add(-2*time.Hour))
	return o
}

// TestTimeAxis: an autoscaler's bounds change with its schedule, and the expected load equals that of the days before.
func TestTimeAxis(t *testing.T) {
	o := objectOf(t, 3)
	at := func(hour, minute int) int64 { return time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC).UnixMilli() }
	if diff := cmp.Diff([]view.Bound{
		{At: at(9, 30), Min: 1, Max: 20}, {At: at(12, 0), Min: 5, Max: 20, Schedules: []string{"lunch"}}, {At: at(13, 0), Min: 1, Max: 20},
	}, o.Bounds); diff != "" {
		t.Error(diff)
	}
	if o.Forecast == nil || len(o.Forecast.Curve) < 115 || o.Forecast.Expected == nil {
		t.Fatalf("forecast %+v", o.Forecast)
	}
	for _, x := range o.Forecast.Curve {
		want := 2.0
		if x.At >= at(12, 0) && x.At < at(13, 0) {
			want = 10
		}
		// The minutes of the jumps vary.
		isJump := x.At%(time.Hour.Milliseconds()) < 2*time.Minute.Milliseconds() || x.At%(time.Hour.Milliseconds()) > 58*time.Minute.Milliseconds()
		if !isJump && (math.Abs(x.Mean-want) > 0.5 || x.Upper < x.Mean) {
			t.Errorf("%s: from %v to %v, want %v", time.UnixMilli(x.At).UTC(), x.Mean, x.Upper, want)
		}
	}
	if len(o.Lines) == 0 || !o.Lines[0].IsHeading || len(o.Metrics) != 1 {
		t.Errorf("%+v, %+v", o.Lines, o.Metrics)
	}
}

// TestSentence: the decision is the first value, as one sentence.
func TestSentence(t *testing.T) {
	if o := objectOf(t, 3); !strings.HasPrefix(o.Summary, "Stays at 2: queue is at 100 % of its target") {
		t.Errorf("%q", o.Summary)
	}
}

// TestNothingIsExpectedYet: while a forecast learns, it has neither a curve nor a number.
func TestNothingIsExpectedYet(t *testing.T) {
	if o := objectOf(t, 1); o.Forecast == nil || o.Forecast.Curve != nil || o.Forecast.Expected != nil {
		t.Errorf("%+v", o.Forecast)
	}
}
