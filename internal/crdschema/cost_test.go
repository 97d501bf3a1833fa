package crdschema

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/config"
)

// TestCostOfRulesOnOldVersions: Kubernetes 1.32 estimates what a rule costs as if each value that may be an integer or a
// string had three megabytes, and refuses the whole definition above a budget. Without the lengths, this version estimates
// alike.
func TestCostOfRulesOnOldVersions(t *testing.T) {
	for _, file := range []string{
		"crd/autoscaling.k8s.io_verticalpodautoscalers.yaml", "crd/plimsoll/plimsoll.dev_workloadautoscalers.yaml",
	} {
		text, err := config.Manifests.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]any
		if err := yaml.Unmarshal(text, &raw); err != nil {
			t.Fatal(err)
		}
		if dropLengths(raw) == 0 {
			t.Errorf("%s: no length was dropped", file)
		}
		if text, err = yaml.Marshal(raw); err != nil {
			t.Fatal(err)
		}
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&d)
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&d, &internal,
			nil); err != nil {
			t.Fatal(err)
		}
		internal.Status.StoredVersions = []string{d.Spec.Versions[0].Name}
		for _, refused := range validation.ValidateCustomResourceDefinition(t.Context(), &internal) {
			t.Errorf("%s: %v", file, refused)
		}
	}
}

// dropLengths removes maxLength where a value may be an integer or a string, and returns how often.
func dropLengths(schema any) (dropped int) {
	switch s := schema.(type) {
	case map[string]any:
		if _, hasLength := s["maxLength"]; hasLength && s["x-kubernetes-int-or-string"] == true {
			delete(s, "maxLength")
			dropped++
		}
		for _, below := range s {
			dropped += dropLengths(below)
		}
	case []any:
		for _, below := range s {
			dropped += dropLengths(below)
		}
	}
	return dropped
}

// TestSigns: an integer is checked by a rule, and text by a pattern. The rules name no type, which costs too much.
func TestSigns(t *testing.T) {
	const object = `
apiVersion: plimsoll.dev/v1alpha1
kind: WorkloadAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 0
  maxReplicas: 10
  scaleToZero: {}
  behavior: {scaleUp: {tolerance: %s}}
  metrics:
  - name: requests
    type: PodEndpoint
    podEndpoint: {port: %s, metric: {name: requests_total}, valueType: Rate, target: {type: AverageValue, averageValue: %s}}
  - name: jobs
    type: External
    activationValue: %s
    external: {metric: {name: jobs}, target: {type: Value, value: 1}}
`
	for _, c := range []struct{ tolerance, port, target, activation, field, message string }{
		{"'0.1'", "8080", "5", "0", "", ""},
		{"0", "http", "'5'", "'0'", "", ""},
		{"'0'", "a-1", "100m", "10k", "", ""},
		{"1", "1", "'0.001'", "1", "", ""},
		{"-1", "1", "1", "1", "spec.behavior.scaleUp.tolerance", "must be greater than or equal to 0"},
		{"'-0.1'", "1", "1", "1", "spec.behavior.scaleUp.tolerance", "should match"},
		{"1", "0", "1", "1", "spec.metrics[0].podEndpoint.port", "must be 1 to 65535"},
		{"1", "65536", "1", "1", "spec.metrics[0].podEndpoint.port", "must be 1 to 65535"},
		{"1", "'80'", "1", "1", "spec.metrics[0].podEndpoint.port", "should match"},
		{"1", "1", "0", "1", "spec.metrics[0].podEndpoint.target.averageValue", "must be positive"},
		{"1", "1", "-1", "1", "spec.metrics[0].podEndpoint.target.averageValue", "must be positive"},
		{"1", "1", "'0'", "1", "spec.metrics[0].podEndpoint.target.averageValue", "should match"},
		{"1", "1", "0m", "1", "spec.metrics[0].podEndpoint.target.averageValue", "should match"},
		{"1", "1", "1", "-1", "spec.metrics[1].activationValue", "must be greater than or equal to 0"},
	} {
		o := decode(t, fmt.Appendf(nil, object, c.tolerance, c.port, c.target, c.activation))
		refused, err := Validate(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if c.field == "" && len(refused) == 0 {
			continue
		}
		if len(refused) != 1 || refused[0].Field != c.field || !strings.Contains(refused[0].Detail, c.message) {
			t.Errorf("%+v: %v", c, refused)
		}
	}
}
