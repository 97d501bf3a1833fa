package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// fromSpec converts an HPA with that spec, beside its scaleTargetRef.
func fromSpec(t testing.TB, spec string) *Result {
	t.Helper()
	raw := map[string]any{}
	if err := utiljson.Unmarshal([]byte(spec), &raw); err != nil {
		t.Fatal(err)
	}
	raw["scaleTargetRef"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
	r, err := FromHPA(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": raw,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of a target that the API server accepts, the value that the HPA uses stays, with its type. Another one stays as it
// is, and the API server refuses it.
func TestTargets(t *testing.T) {
	const (
		resource = `{"type":"Resource","resource":{"name":"cpu","target":%}}`
		pods     = `{"type":"Pods","pods":{"metric":{"name":"hits"},"target":%}}`
		object   = `{"type":"Object","object":{"describedObject":{"kind":"Service","name":"web"},"metric":{"name":"hits"},"target":%}}`
		external = `{"type":"External","external":{"metric":{"name":"hits"},"target":%}}`
	)
	for name, tt := range map[string]struct{ metric, target, want string }{
		"another type of CPU":        {resource, `{"type":"Value","averageUtilization":50}`, "Utilization % 50"},
		"a value beside it":          {resource, `{"type":"Utilization","averageUtilization":50,"value":"5"}`, "Utilization % 50"},
		"both of CPU":                {resource, `{"type":"Utilization","averageUtilization":50,"averageValue":"5"}`, "Utilization avg 5 % 50"},
		"another type of pods":       {pods, `{"type":"Value","averageValue":"5","value":"7"}`, "AverageValue avg 5"},
		"an object goes by its type": {object, `{"type":"Value","averageValue":"5","value":"7"}`, "Value 7"},
		"and computes nothing else":  {object, `{"type":"Value","averageValue":"5"}`, "Value avg 5"},
		"another type of a queue":    {external, `{"type":"Utilization","value":"7"}`, "Value 7"},
		"both of a queue":            {external, `{"type":"Value","averageValue":"5","value":"7"}`, "Value 7 avg 5"},
		"a type that is none":        {external, `{"type":"Sum","value":"7"}`, "Sum 7"},
	} {
		r := fromSpec(t, `{"maxReplicas":5,"metrics":[`+strings.Replace(tt.metric, "%", tt.target, 1)+`]}`)
		target := r.WorkloadAutoscaler.Spec.Metrics[0].Target()
		got := string(target.Type)
		if target.Value != nil {
			got += " " + target.Value.String()
		}
		if target.AverageValue != nil {
			got += " avg " + target.AverageValue.String()
		}
		if target.AverageUtilization != nil {
			got += " % 50"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The defaults of an HPA are written into the spec, and reported.
func TestWrittenOut(t *testing.T) {
	r := fromSpec(t, `{"minReplicas":0,"maxReplicas":2147483647,"metrics":[]}`)
	spec := &r.WorkloadAutoscaler.Spec
	if len(spec.Metrics) != 1 || spec.Metrics[0].Name != "cpu" || *spec.Metrics[0].Resource.Target.AverageUtilization != 80 ||
		spec.ScaleToZero == nil || spec.MaxReplicas != plimsollv1alpha1.MostReplicas {
		t.Errorf("%+v", spec)
	}
	var noted []string
	for _, f := range r.Findings {
		noted = append(noted, f.Field)
	}
	if diff := cmp.Diff([]string{"spec.metrics", "spec.minReplicas", "spec.maxReplicas"}, noted); diff != "" ||
		r.Losses() > 0 {
		t.Error(diff)
	}
}

// Metrics have names after their sources, and each another one.
func TestNames(t *testing.T) {
	external := func(name string) plimsollv1alpha1.MetricSpec {
		return plimsollv1alpha1.MetricSpec{External: &plimsollv1alpha1.ExternalMetricSource{
			Metric: plimsollv1alpha1.MetricIdentifier{Name: name},
		}}
	}
	metrics := []plimsollv1alpha1.MetricSpec{
		external("Queue_Length"), external("queue.length"), external("queue-length"), external("||"), external("||"),
		{Name: "metric", Type: plimsollv1alpha1.PrometheusMetricSourceType}, {Type: plimsollv1alpha1.PrometheusMetricSourceType},
		{ContainerResource: &plimsollv1alpha1.ContainerResourceMetricSource{Container: "app", Name: "nvidia.com/gpu"}},
		{Name: "metric"},
	}
	nameMetrics(metrics)
	var got []string
	for i := range metrics {
		got = append(got, metrics[i].Name)
	}
	want := []string{
		"queue-length", "queue-length-2", "queue-length-3", "metric-2", "metric-3", "metric", "prometheus",
		"app-nvidia-com-gpu", "metric-4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(rt *rapid.T) {
		metrics := make([]plimsollv1alpha1.MetricSpec, rapid.IntRange(0, 30).Draw(rt, "metrics"))
		isTaken := map[string]bool{}
		for i := range metrics {
			metrics[i] = external(rapid.SampledFrom([]string{strings.Repeat("a", 80), "-", "ä-b"}).Draw(rt, "name"))
		}
		nameMetrics(metrics)
		for i := range metrics {
			name := metrics[i].Name
			if isTaken[name] || len(validation.IsDNS1123Label(name)) > 0 {
				rt.Fatalf("%q", name)
			}
			isTaken[name] = true
		}
	})
}
