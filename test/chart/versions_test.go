//go:build helm

package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// laterField is a field of WorkloadAutoscalers that the older chart's definition lacks.
const laterField = "syncPeriodSeconds"

// laterRule is a rule of the role plimsoll-explain that the older chart lacks: today's program, which both versions
// run, needs all of the others.
const laterRule = `  - apiGroups: [batch]
    resources: [jobs]
    verbs: [get]
`

// packages are two versions of the chart as archives. No version has been released yet, so the older one is made of
// today's chart: with a lower version, a definition that lacks a field, a role that lacks a rule, and another argument.
// Both run today's program.
func packages(t *testing.T, h *helm) (older, newer string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "plimsoll")
	if err := os.CopyFS(folder, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	edit(t, folder+"/files/crds/plimsoll.dev_workloadautoscalers.yaml", withoutLaterField)
	edit(t, folder+"/templates/rights/users.yaml", func(t *testing.T, text string) string {
		return replaced(t, text, laterRule, "")
	})
	edit(t, folder+"/templates/controller/deployment.yaml", func(t *testing.T, text string) string {
		const argument = "            - --health-probe-bind-address=:8081\n"
		return replaced(t, text, argument, argument+"            - --concurrent-horizontal-pod-autoscaler-syncs=4\n")
	})
	return pack(t, h, folder, "0.0.1"), pack(t, h, chartDir, "0.0.2")
}

func pack(t *testing.T, h *helm, folder, version string) string {
	t.Helper()
	out := t.TempDir()
	h.run("package", folder, "--version="+version, "--app-version=v"+version, "--destination="+out)
	return filepath.Join(out, "plimsoll-"+version+".tgz")
}

func edit(t *testing.T, path string, change func(*testing.T, string) string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(change(t, read(t, path))), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replaced(t *testing.T, text, from, to string) string {
	t.Helper()
	if strings.Count(text, from) != 1 {
		t.Fatalf("no one\n%s in\n%s", from, text)
	}
	return strings.Replace(text, from, to, 1)
}

func withoutLaterField(t *testing.T, text string) string {
	t.Helper()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
		t.Fatal(err)
	}
	properties := specProperties(t, definition)
	if properties[laterField] == nil {
		t.Fatalf("the definition has no %s", laterField)
	}
	delete(properties, laterField)
	edited, err := yaml.Marshal(definition.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(edited)
}

// specProperties are the fields of the spec of a definition's kind, to be changed in place.
func specProperties(t *testing.T, definition *unstructured.Unstructured) map[string]any {
	t.Helper()
	at := definition.Object["spec"].(map[string]any)["versions"].([]any)[0]
	for _, field := range []string{"schema", "openAPIV3Schema", "properties", "spec", "properties"} {
		object, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("there is no %s in %v", field, at)
		}
		at = object[field]
	}
	return at.(map[string]any)
}
