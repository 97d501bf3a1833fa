package vertical

import (
	"bytes"
	"encoding/json"
	randv1 "math/rand" //nolint:depguard // the fuzzer wants its Source
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/yaml"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// The definitions are upstream's in all but descriptions, in which generator wrote them, in
// the schema of the version that is no longer served, and in the bounds of quantities.
func TestDefinitionsAreUpstreams(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := definitions(t, filepath.Join(strings.TrimSpace(string(dir)), "deploy", "vpa-v1-crd-gen.yaml"))
	generated, err := filepath.Glob("../../../config/crd/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine := definitions(t, generated...)
	if len(theirs) != 2 || len(mine) != 2 {
		t.Fatalf("upstream has %d definitions, Plimsoll %d; want 2 and 2", len(theirs), len(mine))
	}
	if diff := cmp.Diff(theirs, mine); diff != "" {
		t.Errorf("definitions (-upstream +Plimsoll):\n%s", diff)
	}
}

// definitions are those of the files by name, without what may differ.
func definitions(t *testing.T, files ...string) map[string]any {
	t.Helper()
	found := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			document = boundsOfQuantities.ReplaceAllString(document, "$1(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$$\n")
			var crd map[string]any
			if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			metadata := crd["metadata"].(map[string]any)
			delete(metadata["annotations"].(map[string]any), "controller-gen.kubebuilder.io/version")
			for _, version := range crd["spec"].(map[string]any)["versions"].([]any) {
				if v := version.(map[string]any); v["served"] == false {
					delete(v, "schema")
				} else {
					v["schema"] = wordless(v["schema"])
				}
			}
			found[metadata["name"].(string)] = crd
		}
	}
	return found
}

// boundsOfQuantities are what upstream's schema has not: lengths, and at most two digits
// of an exponent.
var boundsOfQuantities = regexp.MustCompile(`maxLength: 64\n *(?:minLength: 1\n *)?(pattern: .*)\[0-9\]\{1,2\}\)\)\?\$\n`)

// wordless is a schema without descriptions; a property of that name stays.
func wordless(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		for key, value := range s {
			if _, isText := value.(string); key == "description" && isText {
				delete(s, key)
				continue
			}
			s[key] = wordless(value)
		}
	case []any:
		for i := range s {
			s[i] = wordless(s[i])
		}
	}
	return schema
}

// Random objects go both ways without losing anything.
func TestObjectsRoundTrip(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := vpav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	fill := fuzzer.FuzzerFor(metafuzzer.Funcs, randv1.NewSource(1),
		serializer.NewCodecFactory(scheme)).NilChance(0.2).MaxDepth(30)
	for range 2000 {
		var a, b vpav1.VerticalPodAutoscaler
		var theirs upstream.VerticalPodAutoscaler
		fill.Fill(&a)
		a.Unreadable = "" // it is never stored
		carry(t, &a, &theirs)
		carry(t, &theirs, &b)

		var other upstream.VerticalPodAutoscaler
		fill.Fill(&other)
		// The schema refuses elements that are null.
		other.Spec.Recommenders = slices.DeleteFunc(other.Spec.Recommenders,
			func(r *upstream.VerticalPodAutoscalerRecommenderSelector) bool { return r == nil })
		if policy := other.Spec.UpdatePolicy; policy != nil {
			policy.EvictionRequirements = slices.DeleteFunc(policy.EvictionRequirements,
				func(r *upstream.EvictionRequirement) bool { return r == nil })
		}
		carry(t, &other, &vpav1.VerticalPodAutoscaler{})

		var c, d vpav1.VerticalPodAutoscalerCheckpoint
		var checkpoint upstream.VerticalPodAutoscalerCheckpoint
		fill.Fill(&c)
		carry(t, &c, &checkpoint)
		carry(t, &checkpoint, &d)
		if t.Failed() {
			return
		}
	}
}

// carry decodes what one type encodes with the other, strictly, and wants the
// other to encode the same.
func carry(t *testing.T, from, to any) {
	t.Helper()
	sent, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(sent))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		t.Fatalf("%T does not take %s: %v", to, sent, err)
	}
	back, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, sent), parsed(t, back)); diff != "" {
		t.Errorf("%T -> %T:\n%s", from, to, diff)
	}
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return withoutNulls(value)
}

// withoutNulls leaves out fields that are null: as the API server does, and as
// both types do when they read what they wrote.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key] = withoutNulls(field); field == nil {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return value
}
