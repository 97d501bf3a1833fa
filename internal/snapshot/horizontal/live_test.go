package horizontal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// live is a decision with only the object and its scale.
func live(t *testing.T) *Live {
	step := stepOf(t, document)
	target, _ := observehorizontal.Target(step.Scale)
	return &Live{
		Autoscaler: step.Autoscaler(), Scale: step.Scale, Options: observehorizontal.DefaultOptions(),
		State: &horizontal.State{}, Observation: &horizontal.Observation{Target: target},
	}
}

// again writes and reads the step.
func again(t *testing.T, step *Step) *Step {
	t.Helper()
	step.Snapshot.Time = time.Date(2026, 11, 20, 12, 0, 0, 1, time.UTC)
	var file bytes.Buffer
	if err := Encode(&file, step); err != nil {
		t.Fatal(err)
	}
	return stepOf(t, file.String())
}

// TestOfSharesNothingThatChanges: the state continues to change, the object is the cache's.
func TestOfSharesNothingThatChanges(t *testing.T) {
	l := live(t)
	l.Autoscaler.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "another"}}
	l.Scale = &autoscalingv1.Scale{
		ObjectMeta: l.Scale.ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: 9}, Status: l.Scale.Status,
	}
	l.State.Recommendations.Add(time.Unix(1000, 0), 4)
	step := Of(l)
	l.State.Recommendations.Add(time.Unix(1001, 0), 5)
	if high, _ := step.Snapshot.State.Recommendations.Highest(func(time.Time) bool { return true }); high.Replicas != 4 {
		t.Errorf("the state has become %+v", high)
	}
	if len(l.Autoscaler.ManagedFields) != 1 || len(step.HPA.ManagedFields) != 0 {
		t.Error("the step has the managed fields, or the cache lacks them")
	}
	if got, want := step.Scale.Spec.Replicas, l.Observation.Target.SpecReplicas; got != want ||
		l.Scale.Spec.Replicas != 9 {
		t.Errorf("decided on %d replicas, saved are %d", want, got)
	}
}

// readings returns the readings of a decision on the step.
func readings(t *testing.T, step *Step) []metric.Reading {
	t.Helper()
	policy, _, _ := observehorizontal.PolicyOf(step.Autoscaler(), step.Snapshot.Options.Flags())
	o, err := step.Observe(&policy)
	if err != nil {
		t.Fatal(err)
	}
	return o.Readings
}

func TestAddAnswer(t *testing.T) {
	const two = `maxReplicas: 5, metrics: [
    {type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 1}}},
    {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1}}},
    {type: External, external: {metric: {name: depth}, target: {type: Value, value: 1}}},
    {type: External, external: {metric: {name: depth, selector: {matchLabels: {q: a}}}, target: {type: Value, value: 1}}}]`
	step := stepOf(t, strings.Replace(document, "maxReplicas: 5", two, 1))
	step.PodMetrics, step.External = nil, nil
	list := &metricsv1beta1.PodMetricsList{Items: make([]metricsv1beta1.PodMetrics, 1)}
	list.Items[0].Name = "web-0"
	step.AddAnswer(0, &observehorizontal.Response{Resource: list})
	step.AddAnswer(1, &observehorizontal.Response{Resource: list})
	step.AddAnswer(2,
		&observehorizontal.Response{External: &externalmetricsv1beta1.ExternalMetricValueList{
			Items: make([]externalmetricsv1beta1.ExternalMetricValue, 2)}})
	step.AddAnswer(3, &observehorizontal.Response{Err: errors.New("no answer")})
	if len(step.PodMetrics) != 1 || list.Items[0].Labels != nil {
		t.Errorf("one answer to two metrics: %+v, of %+v", step.PodMetrics, list.Items[0].Labels)
	}
	got := readings(t, again(t, step))
	if len(got) != 4 || len(got[2].Series) != 2 || got[3].Error != "no answer" {
		t.Fatalf("%+v", got)
	}
	step.Snapshot.Errors = nil
	step.AddAnswer(3,
		&observehorizontal.Response{External: &externalmetricsv1beta1.ExternalMetricValueList{
			Items: make([]externalmetricsv1beta1.ExternalMetricValue, 1)}})
	if got := readings(t, again(t, step)); len(got[2].Series) != 2 || len(got[3].Series) != 1 {
		t.Errorf("series of one name are taken for each other's: %+v", got)
	}
}

// TestEarlierWindow: averages up to the moment that all pods have in common are read again.
func TestEarlierWindow(t *testing.T) {
	step := again(t, stepOf(t, document+interval(observehorizontal.EarlierWindow, `"2026-11-20T12:00:00Z"`, "15s")))
	if got := step.PodMetrics; len(got) != 1 || got[0].Annotations[observehorizontal.WindowAnnotation] != "earlier" {
		t.Errorf("%+v", got)
	}
}

// TestSelected: labels are changed where they must be, and then fit.
func TestSelected(t *testing.T) {
	for _, text := range []string{"", "app=web", "app in (web,api)", "app==web,tier!=db", "app notin (db),tier", "!app",
		"app,!tier"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, have := range []map[string]string{nil, {"app": "db"}, {"app": "web", "tier": "db"}} {
			got := selected(have, selector)
			if !selector.Matches(labels.Set(got)) {
				t.Errorf("%v of %v is not selected by %q", got, have, text)
			}
			if selector.Matches(labels.Set(have)) && !labels.Equals(got, have) {
				t.Errorf("%v were fine for %q, and are %v", have, text, got)
			}
		}
	}
}

// TestAskedIsKept: the step has the time of each metric's request. Otherwise a replay would take a response from before
// the last scale-up for a new one.
func TestAskedIsKept(t *testing.T) {
	step := stepOf(t, document)
	at := time.Date(2026, 11, 20, 11, 59, 59, 123456789, time.UTC)
	step.AddAsked(0, at)
	step.AddAsked(0, time.Time{})
	var text strings.Builder
	if err := Encode(&text, step); err != nil {
		t.Fatal(err)
	}
	read := stepOf(t, text.String())
	if got := read.askedFor(0); !got.Equal(at) || len(read.Snapshot.Asked) != 1 {
		t.Errorf("asked at %v", read.Snapshot.Asked)
	}
	if got := read.askedFor(1); !got.IsZero() {
		t.Errorf("metric 1 was asked for at %v", got)
	}
	step.AddAsked(99, at)
	if err := step.Complete(); err == nil || !strings.Contains(err.Error(), "asked[1].metricIndex") {
		t.Errorf("a metric that is not there: %v", err)
	}
}
