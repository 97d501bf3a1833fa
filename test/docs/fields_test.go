package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestFields: the pages of the fields are those of the CustomResourceDefinitions in config/crd.
func TestFields(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		title, opening string
		files          []string
	}{
		"workloadautoscaler.md": {
			"Fields of the WorkloadAutoscaler", "Each field, as `kubectl explain wla` shows it. " +
				"[The WorkloadAutoscaler](../workloadautoscaler.md) says how a replica count follows from them.",
			[]string{"plimsoll/plimsoll.dev_workloadautoscalers.yaml"},
		},
		"verticalpodautoscaler.md": {
			"Fields of the VerticalPodAutoscaler", "Each field. The API is upstream's.",
			[]string{"autoscaling.k8s.io_verticalpodautoscalers.yaml"},
		},
		"../contributing/checkpoints.md": {
			"Fields of checkpoints", "Plimsoll writes these objects itself, to keep what it has learnt over restarts. " +
				"[History](../forecast.md#where-it-is-kept) says what is in an AutoscalerCheckpoint, and for how long.",
			[]string{"plimsoll/plimsoll.dev_autoscalercheckpoints.yaml",
				"autoscaling.k8s.io_verticalpodautoscalercheckpoints.yaml"},
		},
	} {
		b := generated(of.title, of.opening, "the definitions in config/crd")
		b.WriteString("\nIn a path `[]` stands for each element of a list, and `{}` for each value of a map. Fields of " +
			"`metadata` are those of all objects.\n")
		for _, file := range of.files {
			writeDefinition(b, definition(t, file))
		}
		compare(t, name, b.String())
	}
}

func definition(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(t), "config", "crd", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func writeDefinition(b *strings.Builder, d *apiextensionsv1.CustomResourceDefinition) {
	for _, version := range d.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		fmt.Fprintf(b, "\n## %s of %s/%s\n\n%s\n", d.Spec.Names.Kind, d.Spec.Group, version.Name, cell(schema.Description))
		if names := d.Spec.Names.ShortNames; len(names) > 0 {
			fmt.Fprintf(b, "\nShort names: `%s`. ", strings.Join(names, "`, `"))
		}
		fmt.Fprintf(b, "Resource: `%s`.\n", d.Spec.Names.Plural)
		for _, part := range []string{"spec", "status"} {
			if of, has := schema.Properties[part]; has {
				fmt.Fprintf(b, "\n### %s of %s\n\n| field | type | default | bounds | |\n|---|---|---|---|---|\n", part,
					d.Spec.Names.Kind)
				writeFields(b, part, &of)
			}
		}
	}
}

// writeFields writes a row for each field below a path, in the order of the names.
func writeFields(b *strings.Builder, path string, of *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		field := of.Properties[name]
		at := path + "." + name
		text := cell(field.Description)
		if slices.Contains(of.Required, name) {
			text = strings.TrimSpace("Required. " + text)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", code(at), typeOf(&field), code(defaultOf(&field)), bounds(&field), text)
		writeBelow(b, at, &field)
	}
}

// writeBelow writes what is below a field: its own fields, or those of its elements.
func writeBelow(b *strings.Builder, path string, field *apiextensionsv1.JSONSchemaProps) {
	switch {
	case field.Items != nil && field.Items.Schema != nil:
		writeBelow(b, path+"[]", field.Items.Schema)
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		writeBelow(b, path+"{}", field.AdditionalProperties.Schema)
	default:
		writeFields(b, path, field)
	}
}

func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(s.AdditionalProperties.Schema)
	case s.XIntOrString && strings.Contains(s.Pattern, "[numkMGTPE]"):
		return "quantity"
	case s.XIntOrString:
		return "integer or string"
	case s.Format == "int32" || s.Format == "int64":
		return s.Format
	case s.Format == "date-time":
		return "time"
	}
	if s.Type == "" {
		return "any"
	}
	return s.Type
}

func defaultOf(s *apiextensionsv1.JSONSchemaProps) string {
	if s.Default == nil {
		return ""
	}
	return string(s.Default.Raw)
}

// bounds are what the API server checks of a value.
func bounds(s *apiextensionsv1.JSONSchemaProps) string {
	var all []string
	number := func(format string, value any) { all = append(all, fmt.Sprintf(format, value)) }
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			var text string
			if json.Unmarshal(value.Raw, &text) != nil {
				text = string(value.Raw)
			}
			values = append(values, code(text))
		}
		all = append(all, strings.Join(values, ", "))
	}
	if s.Minimum != nil {
		number("at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		number("at most %v", *s.Maximum)
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		number("characters: at least %d", *s.MinLength)
	}
	if s.MaxLength != nil {
		number("characters: at most %d", *s.MaxLength)
	}
	if s.MinItems != nil && *s.MinItems > 0 {
		number("elements: at least %d", *s.MinItems)
	}
	if s.MaxItems != nil {
		number("elements: at most %d", *s.MaxItems)
	}
	if s.MaxProperties != nil {
		number("entries: at most %d", *s.MaxProperties)
	}
	for _, rule := range s.XValidations {
		if rule.Message != "" {
			all = append(all, cell(rule.Message))
		}
	}
	return strings.Join(all, "; ")
}
