package workloadstatus

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestEachFieldIsWritten: there is a decision that writes each field of the status. A field that none writes promises
// what the API does not keep.
func TestEachFieldIsWritten(t *testing.T) {
	asUsual := func(*horizontal.Observation) {}
	scheduled := func(s *spec) {
		s.MaxReplicas = 5
		s.Schedules = []plimsollv1alpha1.Schedule{
			{Name: "day", Start: "@daily", DurationSeconds: ptr.To[int32](3 * 86400), MinReplicas: ptr.To[int32](4),
				NotAfter: ptr.To(metav1.NewTime(noon.Add(time.Hour)))},
		}
	}
	inTotal := func(s *spec) {
		four := resource.MustParse("4")
		s.Metrics[0].External.Target = plimsollv1alpha1.MetricTarget{Type: "Value", Value: &four}
	}
	withPods := func(o *horizontal.Observation) {
		o.Pods = []metric.Pod{{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue}}
	}
	samples := metric.Result{Replicas: 3, Percent: 90, At: noon.Add(-time.Hour),
		Counts: metric.Counts{Counted: 2, Missing: 1, Unready: 1, Unsampled: 1}}
	failed := metric.Result{Failure: &source.Failure{Reason: "FailedGetResourceMetric", Message: "no samples"}}
	learning := forecast.Result{Reason: forecast.ReasonLearning, LearntFor: time.Hour, Needed: 30 * time.Hour}
	shown := map[string]bool{}
	for _, status := range []plimsollv1alpha1.WorkloadAutoscalerStatus{
		statusOf(scheduled, jobs(9), asUsual), statusOf(inTotal, jobs(9), withPods),
		ofCPU(t, samples, learning), ofCPU(t, failed, inUse()),
	} {
		text, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		collect(fields, "status", shown)
	}
	fields := map[string]bool{}
	fieldsOf(reflect.TypeFor[plimsollv1alpha1.WorkloadAutoscalerStatus](), "status", fields)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !shown[field] {
			t.Errorf("no decision writes %s", field)
		}
	}
}

// ofCPU is the status after a decision on the CPU of pods with this result, with a forecast and a next change.
func ofCPU(t *testing.T, r metric.Result, f forecast.Result) plimsollv1alpha1.WorkloadAutoscalerStatus {
	t.Helper()
	a, w := onCPU(t, r)
	w.Policy.Forecast.Mode, w.Decision.Forecast = forecast.Preview, f
	w.Next = horizontal.FollowUp{DecideAt: noon.Add(time.Hour), Reason: trigger.FallbackDue}
	w.Status.Metrics = []observehorizontal.MetricValue{{Type: source.Resource,
		AverageValue: resource.NewMilliQuantity(90, resource.DecimalSI), AverageUtilization: ptr.To[int32](90)}}
	return Of(a, w)
}

// collect adds the paths of all fields, without the indices of lists.
func collect(value any, at string, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			into[at+"."+key] = true
			collect(child, at+"."+key, into)
		}
	case []any:
		for _, child := range v {
			collect(child, at, into)
		}
	}
}

// fieldsOf adds the paths of a type's fields, apart from those of other APIs' types.
func fieldsOf(of reflect.Type, at string, into map[string]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), "github.com/plimsoll-dev/plimsoll/") {
		return
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		into[at+"."+name] = true
		fieldsOf(of.Field(i).Type, at+"."+name, into)
	}
}
