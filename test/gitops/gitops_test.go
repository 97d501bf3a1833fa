package gitops

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

const (
	docs = "../../docs/"
	// check is where Argo CD looks for the health check of the kind.
	check = "resource.customizations.health.plimsoll.dev_WorkloadAutoscaler"
)

// examples are the files of docs/gitops by their paths.
func examples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"gitops/*.yaml", "gitops/*/*.yaml"} {
		paths, err := filepath.Glob(docs + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimPrefix(path, docs)] = string(text)
		}
	}
	return found
}

// The page links each file, links no other, and quotes only what is in one of them.
func TestThePageHasTheFiles(t *testing.T) {
	files := examples(t)
	page, err := os.ReadFile(docs + "gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for _, link := range regexp.MustCompile(`\]\((gitops/[^)]*)\)`).FindAllStringSubmatch(string(page), -1) {
		linked = append(linked, link[1])
		if _, exists := files[link[1]]; !exists {
			t.Errorf("there is no %s", link[1])
		}
	}
	for path, text := range files {
		if !slices.Contains(linked, path) && path != "gitops/workloadautoscaler.yaml" {
			t.Errorf("%s is not linked", path)
		}
		if err := yaml.UnmarshalStrict([]byte(text), &map[string]any{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, quote := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		isThere := false
		for _, text := range files {
			isThere = isThere || strings.Contains(text, quote[1])
		}
		if !isThere {
			t.Errorf("no file has\n%s", quote[1])
		}
	}
}

func condition(kind, status, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "why " + reason}
}

// observed is the status of an object of generation 3, on which Plimsoll has decided.
func observed(conditions ...metav1.Condition) plimsollv1alpha1.WorkloadAutoscalerStatus {
	generation := int64(3)
	return plimsollv1alpha1.WorkloadAutoscalerStatus{
		ObservedGeneration: &generation, Summary: &plimsollv1alpha1.Summary{Reason: "cpu above target"},
		Conditions: conditions,
	}
}

// The health check runs as in Argo CD: without Lua's libraries, with the object as obj.
func TestHealth(t *testing.T) {
	ready := condition("Ready", "True", "Active")
	no := func(kind, reason string) metav1.Condition { return condition(kind, "False", reason) }
	older := observed(ready)
	*older.ObservedGeneration = 2
	objects, want := map[string]plimsollv1alpha1.WorkloadAutoscaler{}, map[string]string{}
	const undecided = "Progressing: Plimsoll has not decided on this version yet"
	for name, c := range map[string]struct {
		status plimsollv1alpha1.WorkloadAutoscalerStatus
		want   string
	}{
		"new":        {plimsollv1alpha1.WorkloadAutoscalerStatus{}, undecided},
		"changed":    {older, undecided},
		"fine":       {observed(ready), "Healthy: cpu above target"},
		"starting":   {observed(no("Ready", "AwaitingMetrics")), "Progressing: Plimsoll waits for the first values of the metrics"},
		"preview":    {observed(condition("Ready", "True", "Preview")), "Suspended: why Preview"},
		"paused":     {observed(condition("Ready", "True", "Paused")), "Suspended: why Paused"},
		"rival":      {observed(no("Ready", "TargetHasAnotherAutoscaler")), "Degraded: why TargetHasAnotherAutoscaler"},
		"no target":  {observed(no("Ready", "FailedGetScale")), "Degraded: why FailedGetScale"},
		"no metrics": {observed(no("Ready", "FailedGetPodsMetric")), "Degraded: why FailedGetPodsMetric"},
		"off":        {observed(condition("Ready", "True", "ScalingDisabled")), "Suspended: why ScalingDisabled"},
		"fallback":   {observed(ready, condition("FallbackActive", "True", "Failing")), "Healthy: why Failing"},
		"recovered":  {observed(ready, no("FallbackActive", "Fine")), "Healthy: cpu above target"},
	} {
		objects[name], want[name] = plimsollv1alpha1.WorkloadAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: "worker", Generation: 3}, Status: c.status,
		}, c.want
	}
	if diff := cmp.Diff(want, health(t, objects)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// health runs the check of the example's ConfigMap on each of the objects.
func health(t *testing.T, objects map[string]plimsollv1alpha1.WorkloadAutoscaler) map[string]string {
	t.Helper()
	var settings struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(examples(t)["gitops/argocd/argocd-cm.yaml"]), &settings); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	program := "string, table, math, os, io, debug, coroutine, require = nil\n" +
		"local function check()\n" + settings.Data[check] + "end\n" +
		"for name, object in pairs(" + literal(values) + ") do\n" +
		"  obj = object\n  local health = check()\n  print(name .. '=' .. health.status .. ': ' .. health.message)\nend\n"
	script := filepath.Join(t.TempDir(), "health.lua")
	if err := os.WriteFile(script, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../../tools/lua/go.mod", "glua", script)
	cmd.Env = append(os.Environ(), "GOWORK=off") // which -modfile excludes
	// On a new machine the go command writes there what it downloads.
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s\n%s", err, messages.String(), out, program)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		found[name] = result
	}
	return found
}

// literal is a value of JSON as Lua writes it.
func literal(value any) string {
	var fields []string
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			fields = append(fields, fmt.Sprintf("[%q] = %s", name, literal(field)))
		}
	case []any:
		for _, item := range v {
			fields = append(fields, literal(item))
		}
	case nil:
		return "nil"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
