package autoscaler

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

func TestComputedSaysWhyNot(t *testing.T) {
	object := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	condition := func(status string) map[string]any {
		return map[string]any{"type": "ScalingActive", "status": status, "reason": "Why", "message": "so"}
	}
	if err := computed(object(condition("True"))); err != nil {
		t.Error(err)
	}
	if err := computed(object(condition("False"))); err == nil || !strings.Contains(err.Error(), "Why: so") {
		t.Errorf("got %v", err)
	}
	if err := computed(object()); err == nil {
		t.Error("nothing was computed")
	}
}

// All have a target; by requests it is the same, and only the way to the metric differs.
func TestAutoscalers(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		kind   string
		path   []string // to the target
		want   any
	}{
		"CPU": {Config{Resource: Resource{Name: "cpu", Percent: 20}}, "HorizontalPodAutoscaler",
			[]string{"resource", "target", "averageUtilization"}, int64(20)},
		"memory": {Config{Resource: Resource{Name: "memory", Percent: 50}}, "HorizontalPodAutoscaler",
			[]string{"resource", "name"}, "memory"},
		"a container's CPU": {Config{Resource: Resource{Name: "cpu", Container: "nginx", Percent: 50}},
			"HorizontalPodAutoscaler", []string{"containerResource", "container"}, "nginx"},
		"by the API": {Config{Requests: 50}, "HorizontalPodAutoscaler", []string{"pods", "target", "averageValue"}, "50"},
		"by the pods": {Config{Requests: 50, MetricsPort: 9113}, "WorkloadAutoscaler",
			[]string{"podEndpoint", "target", "averageValue"}, "50"},
	} {
		c.config.REST = &rest.Config{}
		a, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		metrics, _, err := unstructured.NestedSlice(a.object.Object, "spec", "metrics")
		if err != nil || len(metrics) != 1 || a.object.GetKind() != c.kind {
			t.Fatalf("%s: %v, %v", name, a.object, err)
		}
		metric, _ := metrics[0].(map[string]any)
		got, found, err := unstructured.NestedFieldNoCopy(metric, c.path...)
		if err != nil || !found || got != c.want {
			t.Errorf("%s: the target is %v, %v", name, got, err)
		}
	}
}
