package typed

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// TestTypeErrorsNameTheField: if an API server's decoder refuses an object, the error names the wrong field.
func TestTypeErrorsNameTheField(t *testing.T) {
	values := []any{"text", "2", true, int64(7), int64(1) << 40, 1.5, []any{"a"}, map[string]any{"a": "b"}}
	spec := map[string]any{
		"scaleTargetRef": map[string]any{"kind": "Deployment", "name": "web"}, "minReplicas": int64(1),
		"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
			"target": map[string]any{"type": "AverageValue", "averageValue": "100m"}}}},
		"updatePolicy": map[string]any{"updateMode": "Off", "minReplicas": int64(1)},
		"containers": []any{map[string]any{"name": "app", "tty": false, "resources": map[string]any{
			"requests": map[string]any{"cpu": "1"}}, "env": []any{map[string]any{"name": "A", "value": "1"}}}},
		"nodeSelector": map[string]any{"disk": "fast"},
	}
	var paths [][]string
	var collect func(at any, path []string)
	collect = func(at any, path []string) {
		paths = append(paths, path)
		switch a := at.(type) {
		case map[string]any:
			for name, inner := range a {
				collect(inner, append(slices.Clone(path), name))
			}
		case []any:
			collect(a[0], append(slices.Clone(path), "0"))
		}
	}
	collect(spec, []string{"spec"})
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths[1:]).Draw(t, "path")
		raw := runtime.DeepCopyJSON(map[string]any{"metadata": map[string]any{"name": "web"}, "spec": spec})
		setField(raw, path, rapid.SampledFrom(values).Draw(t, "value"))
		for _, into := range []any{&autoscalingv2.HorizontalPodAutoscaler{}, &vpav1.VerticalPodAutoscaler{}, &corev1.Pod{}} {
			text, err := json.Marshal(raw)
			if err != nil {
				t.Fatal(err)
			}
			err = json.Unmarshal(text, into)
			wrong := mismatch(raw, into, nil)
			if (err != nil) != (wrong != nil) {
				t.Fatalf("%s in a %T: error %v, found %+v", path, into, err, wrong)
			}
			if wrong != nil && !strings.HasPrefix(dotted.Replace(wrong.Field.String()), strings.Join(path, ".")) {
				t.Fatalf("%s is wrong, found %+v", path, wrong)
			}
			if wrong != nil {
				found++
			}
		}
	})
	if found == 0 {
		t.Error("nothing was wrong")
	}
}

// dotted writes a field with dots alone.
var dotted = strings.NewReplacer("[", ".", "]", "")

// setField sets a field of an object.
func setField(in any, path []string, value any) {
	for i, name := range path {
		isLast := i == len(path)-1
		switch at := in.(type) {
		case map[string]any:
			if isLast {
				at[name] = value
			}
			in = at[name]
		case []any:
			if isLast {
				at[0] = value
			}
			in = at[0]
		}
	}
}
