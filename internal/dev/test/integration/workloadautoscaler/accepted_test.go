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

// The examples of the documentation and those of config/samples are accepted.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, page := range []string{"README.md", "docs/workloadautoscaler.md", "docs/forecast.md", "docs/recipes.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, strings.Split(string(text), "```yaml\n")[1:]...)
	}
	samples, err := filepath.Glob(filepath.Join(root, "config", "samples", "*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range samples {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, string(text))
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```")
		if strings.Contains(example, "kind: VerticalPodAutoscaler") {
			continue
		}
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

// Objects that earlier releases have stored are accepted unchanged, on every version of Kubernetes.
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
	metric := fmt.Sprintf(`{"name":"m","type":"Object","object":{"describedObject":{"apiVersion":%q,"kind":%q,"name":%q},
		"metric":{"name":%q,"selector":{"matchLabels":{%s},"matchExpressions":[{"key":%q,"operator":"In","values":[%s]}]}},
		"target":{"type":"Value","value":%q}},"activationValue":%q,
		"fallback":{"replicas":3,"policy":"CurrentReplicasIfHigher"}}`,
		strings.Repeat("a", 253)+"/"+strings.Repeat("v", 63), strings.Repeat("K", 63), strings.Repeat("n", 253),
		strings.Repeat("m", 1024), manyLabels(64), strings.Repeat("k", 253)+"/"+strings.Repeat("k", 63), manyValues(191),
		quantity, quantity)
	policy := `{"type":"Percent","value":2147483647,"periodSeconds":1800}`
	rules := fmt.Sprintf(`{"tolerance":%q,"policies":[%s]}`, quantity, repeated(policy, 100))
	schedules := make([]string, 32)
	for i := range schedules {
		schedules[i] = fmt.Sprintf(`{"name":"%s%02d","timeZone":"America/Argentina/ComodRivadavia","start":%q,"end":%q,
			"notBefore":"2026-11-27T00:00:00Z","notAfter":"2026-11-30T00:00:00+14:00","minReplicas":1,"maxReplicas":2,
			"rampSeconds":86400}`, strings.Repeat("s", 61), i, repeated("1-59/2", 15)+" 0-23 * jan-dec sun-sat",
			repeated("2-58/2", 15)+" 0-23 * jan-dec sun-sat")
	}
	spec := with(t, fmt.Sprintf(`{"minReplicas":0,"scaleToZero":{},"metrics":[%s],"behavior":{"scaleUp":%s,"scaleDown":%s},"schedules":[%s]}`,
		named(metric, 100), rules, rules, strings.Join(schedules, ",")))
	if _, err := objects.dryRun(t, workloadAutoscaler, spec); err != nil {
		t.Errorf("%.2000s", err)
	}
}

// Metrics on as many pages as are permitted, in the order in which the rule that counts them has the most to compare.
func TestMostPagesAreAccepted(t *testing.T) {
	t.Parallel()
	objects := objectsOf(t, namespace(t))
	list := make([]string, 100)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"%s%02d","type":"PodEndpoint","podEndpoint":{"port":80,"path":"/%s%d","metric":{"name":"hits"},
			"valueType":"Rate","target":%s}}`, strings.Repeat("m", 61), 99-i, strings.Repeat("p", 1022), i/10, average)
	}
	spec := with(t, `{"metrics":[`+strings.Join(list, ",")+`]}`)
	if _, err := objects.dryRun(t, workloadAutoscaler, spec); err != nil {
		t.Errorf("%.2000s", err)
	}
}

func manyLabels(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`%q:%q`, fmt.Sprintf("%s%02d", strings.Repeat("l", 61), i), strings.Repeat("v", 63))
	}
	return strings.Join(list, ",")
}

// named repeats a metric, each with a name of its own.
func named(metric string, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.Replace(metric, `"name":"m"`, fmt.Sprintf(`"name":"%s%02d"`, strings.Repeat("m", 61), i), 1)
	}
	return strings.Join(list, ",")
}

func repeated(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}
