package crdschema

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/config"
)

const workloadAutoscalers = "crd/plimsoll/plimsoll.dev_workloadautoscalers.yaml"

// TestSamples: what config/samples has is accepted, and there is an example of each field.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		object := objectOf(t, file)
		errs, err := Validate(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range errs {
			t.Errorf("%s: %v", filepath.Base(file), e)
		}
		collect(object["spec"], "spec", shown)
	}
	d, err := read(workloadAutoscalers, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	spec := d.whole.Properties["spec"]
	fields := map[string]bool{}
	fieldsOf(&spec, "spec", fields)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		// The same struct in several places needs one example.
		if !shown[field] && !slices.ContainsFunc(repeated, func(part string) bool { return strings.Contains(field, part) }) {
			t.Errorf("no sample has %s", field)
		}
	}
}

// TestMostReplicas: the definition has the bound that the program knows.
func TestMostReplicas(t *testing.T) {
	d, err := read(workloadAutoscalers, "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	most := d.whole.Properties["spec"].Properties["maxReplicas"].ValueValidation.Maximum
	if most == nil || *most != plimsollv1alpha1.MostReplicas {
		t.Errorf("the definition has %v, the program %d", ptr.Deref(most, 0), plimsollv1alpha1.MostReplicas)
	}
}

// repeated are structs that samples have in one place, and others too.
var repeated = []string{".tlsConfig.", ".basicAuth", ".authorization", ".selector", ".target.", "podEndpoint.metric."}

func objectOf(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

// collect adds the paths of all fields of a value, without the indices of lists.
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

func fieldsOf(s *schema.Structural, at string, into map[string]bool) {
	for key := range s.Properties {
		child := s.Properties[key]
		into[at+"."+key] = true
		fieldsOf(&child, at+"."+key, into)
	}
	if s.Items != nil {
		fieldsOf(s.Items, at, into)
	}
}

// TestDefinitionIsValid: an API server takes the definition, the costs of its rules included.
func TestDefinitionIsValid(t *testing.T) {
	text, err := config.Manifests.ReadFile(workloadAutoscalers)
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&d, &internal,
		nil); err != nil {
		t.Fatal(err)
	}
	internal.Status.StoredVersions = []string{"v1alpha1"}
	for _, e := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), &internal) {
		t.Errorf("%.1000v", e)
	}
}
