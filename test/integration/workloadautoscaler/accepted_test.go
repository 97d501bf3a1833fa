package workloadautoscaler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// The examples of the documentation are accepted.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, page := range []string{"README.md", "docs/workloadautoscaler.md", "docs/forecast.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		document, err := yaml.YAMLToJSON([]byte(example))
		if err != nil {
			t.Fatalf("%v\n%s", err, example)
		}
		spec, _ := decoded(document)["spec"].(map[string]any)
		if _, err := objects.dryRun(t, workloadAutoscaler, spec); err != nil {
			t.Errorf("%v\n%s", err, example)
		}
	}
	if len(examples) < 6 {
		t.Errorf("only %d examples were found", len(examples))
	}
}

// What some release has stored is accepted as it is, on every version of Kubernetes.
func TestStoredObjectsAreAccepted(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "internal", "crdschema", "testdata", "stored", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		s.Kubectl("create", "--dry-run=server", "--validate=strict", "-f", file)
	}
}

// An object that is as large as the schema permits is within what the API server spends on its rules.
func TestLargestObjectIsAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	quantity := strings.Repeat("9", 60) + "e+99"
	metric := fmt.Sprintf(`{"type":"Object","object":{"describedObject":{"apiVersion":%q,"kind":%q,"name":%q},
		"metric":{"name":%q},"target":{"type":"Value","value":%q,"averageValue":%q}},"activationValue":%q,
		"fallback":{"replicas":3,"behavior":"CurrentReplicasIfHigher"}}`,
		strings.Repeat("a", 253)+"/"+strings.Repeat("v", 63), strings.Repeat("K", 63), strings.Repeat("n", 253),
		strings.Repeat("m", 1024), quantity, quantity, quantity)
	policy := `{"type":"Percent","value":2147483647,"periodSeconds":1800}`
	rules := fmt.Sprintf(`{"tolerance":%q,"policies":[%s]}`, quantity, repeated(policy, 100))
	schedules := make([]string, 32)
	for i := range schedules {
		schedules[i] = fmt.Sprintf(`{"name":"%s%02d","timeZone":"America/Argentina/ComodRivadavia","start":%q,
			"durationSeconds":31622400,"minReplicas":1,"maxReplicas":2,"rampSeconds":86400}`, strings.Repeat("s", 61), i,
			repeated("1-59/2", 15)+" 0-23 * jan-dec sun-sat")
	}
	spec := with(t, fmt.Sprintf(`{"metrics":[%s],"behavior":{"scaleUp":%s,"scaleDown":%s},"schedules":[%s]}`,
		repeated(metric, 100), rules, rules, strings.Join(schedules, ",")))
	if _, err := objects.dryRun(t, workloadAutoscaler, spec); err != nil {
		t.Errorf("%.2000s", err)
	}
}

func repeated(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}
