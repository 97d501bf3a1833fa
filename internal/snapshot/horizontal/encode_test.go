package horizontal

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

func stepOf(t *testing.T, text string) *Step {
	t.Helper()
	step, err := NewReader(strings.NewReader(text)).Next()
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// The state that Plimsoll saves goes through a snapshot unchanged, and so do times with fractions of a second.
func TestEncodeStateAndTimes(t *testing.T) {
	step := stepOf(t, document)
	sharp := time.Date(2026, 11, 20, 11, 59, 59, 987654321, time.UTC)
	start := metav1.NewTime(sharp)
	step.Pods = []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "shop", Labels: map[string]string{"app": "web"}},
		Status: corev1.PodStatus{StartTime: &start, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: start},
		}},
	}}
	state := horizontal.State{Version: horizontal.StateVersion}
	state.Recommendations.Add(sharp, 4)
	state.Recommendations.Add(sharp.Add(time.Second), 2)
	step.Snapshot.State = &state
	step.Snapshot.Options = OptionsOf(observehorizontal.DefaultOptions())
	step.Snapshot.Errors = []Error{{MetricIndex: 0, Message: "gone"}}

	var out bytes.Buffer
	if err := Encode(&out, step); err != nil {
		t.Fatal(err)
	}
	got := stepOf(t, out.String())
	if diff := cmp.Diff(step.Snapshot, got.Snapshot, cmpopts.IgnoreUnexported(horizontal.State{})); diff != "" {
		t.Errorf("Snapshot (-want +got):\n%s", diff)
	}
	pod := got.Pods[0]
	if !pod.Status.StartTime.Time.Equal(sharp) || !pod.Status.Conditions[0].LastTransitionTime.Time.Equal(sharp) {
		t.Errorf("times have become %s and %s", pod.Status.StartTime.Time, pod.Status.Conditions[0].LastTransitionTime.Time)
	}
}

// fullState has every field of a state, by the names that all versions write.
const fullState = `{
  "version": 1,
  "recommendations": {
    "highs": [{"time": "2026-11-20T11:50:00Z", "replicas": 4}], "lows": [{"time": "2026-11-20T11:51:00Z", "replicas": 2}],
    "slots": [{"time": "2026-11-20T11:52:00Z", "replicas": 3}], "passing": [{"time": "2026-11-20T11:53:00Z", "replicas": 5}]
  },
  "scaledToZero": true,
  "scaleUps": [{"time": "2026-11-20T11:54:00Z", "replicas": 2, "outdated": true}],
  "scaleDowns": [{"time": "2026-11-20T11:55:00Z", "replicas": 1}],
  "lastScaleUp": "2026-11-20T11:54:00Z",
  "lastScaleUpOn": [{"at": "2026-11-20T11:53:59Z"}],
  "count": {
    "replicas": 4, "known": true, "changedAt": "2026-11-20T11:55:00Z", "effectiveAt": "2026-11-20T11:55:01Z",
    "lowered": true, "awaited": true, "foreign": true
  },
  "loweringAt": "2026-11-20T11:59:50Z", "unreached": 3,
  "ready": [{"time": "2026-11-20T11:53:59Z", "pods": 2}, {"time": "2026-11-20T11:54:30Z", "pods": 4}],
  "surges": {
    "since": "2026-11-20T11:56:00Z", "last": "2026-11-20T11:57:00Z", "steady": "2026-11-20T11:56:30Z",
    "metric": 1, "source": "Resource/cpu", "from": 2, "wish": 6, "pods": 2, "ratio": 2.5, "unconfirmed": 1,
    "doubtedUntil": "2026-11-20T12:30:00Z", "raised": 6, "without": 3
  },
  "pending": {"change": 2, "replicas": 6, "longest": 60000000000, "samples": [{"at": "2026-11-20T11:59:59Z"}]},
  "fallbacks": [{"metric": "External/queue", "since": "2026-11-20T11:40:00Z", "active": true}],
  "idleSince": "2026-11-20T11:45:00Z",
  "unknownSince": "2026-11-20T11:59:55Z",
  "overrides": {
    "written": 4, "known": true, "writtenAt": "2026-11-20T11:59:40Z",
    "noticed": ["2026-11-20T11:59:25Z", "2026-11-20T11:59:10Z", "2026-11-20T11:58:55Z"]
  }
}`

// TestStateKeepsItsNames: a state that an earlier version saved is read whole, and written as it was.
func TestStateKeepsItsNames(t *testing.T) {
	var list, state map[string]any
	if err := errors.Join(
		yaml.Unmarshal([]byte(document), &list), json.Unmarshal([]byte(fullState), &state),
	); err != nil {
		t.Fatal(err)
	}
	forecast, err := forecast.New().MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	state["forecast"] = string(forecast)
	items, _ := list["items"].([]any)
	saved, _ := items[len(items)-1].(map[string]any)
	saved["state"] = state
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	read := stepOf(t, string(text)).Snapshot.State
	wantNoZero(t, "state", reflect.ValueOf(*read))
	var written map[string]any
	if text, err = json.Marshal(read); err == nil {
		err = json.Unmarshal(text, &written)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, written); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// wantNoZero finds fields that a document lacks.
func wantNoZero(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		wantNoZero(t, path, v.Elem())
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				wantNoZero(t, path+"."+field.Name, v.Field(i))
			}
		}
	case v.IsZero():
		t.Errorf("%s is not in the document of this test", path)
	}
}

// A snapshot has the mode of forecasts, the forecast's state, and the start-up time that it looks ahead.
func TestForecastIsSaved(t *testing.T) {
	want := observehorizontal.DefaultOptions()
	want.Forecast = forecast.Active
	if diff := cmp.Diff(want, OptionsOf(want).Flags()); diff != "" {
		t.Errorf("(-saved +read):\n%s", diff)
	}
	step := stepOf(t, document)
	learnt := forecast.New()
	settings := forecast.Settings{Mode: forecast.Preview}
	learnt.Observe(&settings, &forecast.Input{Now: step.Snapshot.Time, Load: forecast.Load{Pods: 3, IsKnown: true}})
	target, _ := observehorizontal.Target(step.Scale)
	saved := again(t, Of(&Live{
		Autoscaler: step.Autoscaler(), Scale: step.Scale, Options: want, State: &horizontal.State{Forecast: learnt},
		Observation: &horizontal.Observation{Target: target, StartUp: 42 * time.Second},
	}))
	got, err := saved.Snapshot.State.Forecast.MarshalText()
	wanted, _ := learnt.MarshalText()
	if err != nil || string(got) != string(wanted) {
		t.Errorf("read as %.40q, %v", got, err)
	}
	p := saved.Policy(want)
	if o, err := saved.Observe(&p); err != nil || o.StartUp != 42*time.Second || p.Forecast.Mode != forecast.Active {
		t.Errorf("start-up %v in mode %v, %v", o.StartUp, p.Forecast.Mode, err)
	}
}

// A snapshot carries the flags of the surge window, each by itself.
func TestSurgeOptions(t *testing.T) {
	want := observehorizontal.DefaultOptions()
	want.Surge = surge.Settings{
		Window: 4 * time.Second, SteepFactor: 5, Margin: 2, LeastCPUMilli: 7, ReadyFor: time.Minute,
	}
	if diff := cmp.Diff(want, OptionsOf(want).Flags()); diff != "" {
		t.Errorf("(-saved +read):\n%s", diff)
	}
	some := Options{Surge: &SurgeOptions{Window: &metav1.Duration{}}}
	want = observehorizontal.DefaultOptions()
	want.Surge.Window = 0
	if diff := cmp.Diff(want, some.Flags()); diff != "" {
		t.Errorf("what is absent has its default (-want +got):\n%s", diff)
	}
}

// The state has precedence over history, history over the state of the previous step.
func TestStatePrecedence(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	of := func(replicas int32) horizontal.State {
		s := horizontal.State{Version: horizontal.StateVersion}
		s.Recommendations.Add(noon, replicas)
		return s
	}
	saved := of(7)
	history := &History{Recommendations: []Recommendation{{noon, 5}}}
	cases := map[string]struct {
		snapshot Snapshot
		want     int32
	}{
		"carried": {Snapshot{}, 3},
		"history": {Snapshot{History: history}, 5},
		"state":   {Snapshot{History: history, State: &saved}, 7},
	}
	for name, tc := range cases {
		step := &Step{Snapshot: &tc.snapshot}
		got := step.StateBefore(of(3), divergence.Default)
		if high, _ := got.Recommendations.Highest(func(time.Time) bool { return true }); high.Replicas != tc.want {
			t.Errorf("%s: the recommendation is %d, want %d", name, high.Replicas, tc.want)
		}
	}
}

func TestHistory(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	h := History{
		Recommendations: []Recommendation{{noon.Add(time.Minute), 2}, {noon, 9}},
		ScaleEvents:     []ScaleEvent{{noon, 4}, {noon.Add(time.Second), -3}},
	}
	state := h.state(divergence.Default)
	high, _ := state.Recommendations.Highest(func(time.Time) bool { return true })
	low, _ := state.Recommendations.Lowest(func(time.Time) bool { return true })
	if high.Replicas != 9 || low.Replicas != 2 {
		t.Errorf("recommendations in any order: highest %d, lowest %d", high.Replicas, low.Replicas)
	}
	later := noon.Add(2 * time.Second)
	if ups, downs := state.ScaleUps.Within(later, time.Minute), state.ScaleDowns.Within(later, time.Minute); ups != 4 ||
		downs != 3 {
		t.Errorf("%d up and %d down, want 4 and 3", ups, downs)
	}
	if !state.Count.ChangedAt.Equal(later.Add(-time.Second)) && !state.Count.ChangedAt.Equal(noon) {
		t.Errorf("last changed at %v, want the time of the newest event", state.Count.ChangedAt)
	}
}

// Responses as an adapter returns them, without the selector, are found again.
func TestAddAnswers(t *testing.T) {
	step := stepOf(t, strings.Replace(document, "maxReplicas: 5", `maxReplicas: 5, metrics: [
    {type: Pods, pods: {metric: {name: rps, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: 1}}},
    {type: Object, object: {describedObject: {kind: Namespace, name: any, apiVersion: v1}, metric: {name: jobs}, target: {type: Value, value: 1}}},
    {type: External, external: {metric: {name: depth}, target: {type: Value, value: 1}}}]`, 1))
	step.AddPodValues(0, &custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{
		{DescribedObject: corev1.ObjectReference{Kind: "pods", Name: "web-0"}},
	}})
	step.AddObjectValue(1, custommetricsv1beta2.MetricValue{})
	step.AddSeries(2,
		&externalmetricsv1beta1.ExternalMetricValueList{Items: make([]externalmetricsv1beta1.ExternalMetricValue, 2)})
	var out bytes.Buffer
	if err := Encode(&out, step); err != nil {
		t.Fatal(err)
	}
	for i, reading := range readings(t, stepOf(t, out.String())) {
		if reading.Error != "" || reading.Empty {
			t.Errorf("metric %d: %+v", i, reading)
		}
	}
}
