package manifest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

const image = "ghcr.io/plimsoll-dev/plimsoll"

// configDir is the repository's config/.
func configDir(t *testing.T) string {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config")
}

// objects decodes a stream of documents.
func objects(t *testing.T, text []byte) []unstructured.Unstructured {
	t.Helper()
	var found []unstructured.Unstructured
	for r := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		err := r.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

func names(objects []unstructured.Unstructured, kind string) []string {
	var found []string
	for _, object := range objects {
		if object.GetKind() == kind {
			found = append(found, object.GetName())
		}
	}
	slices.Sort(found)
	return found
}

func TestInstallations(t *testing.T) {
	cases := map[string]struct {
		folder, kind string
		want         []string
	}{
		"everything":       {".", "Deployment", []string{"plimsoll-admission-controller", "plimsoll-controller"}},
		"horizontal alone": {"horizontal", "Deployment", []string{"plimsoll-controller"}},
		"agents of nodes":  {"node-agent", "DaemonSet", []string{"plimsoll-node-agent"}},
	}
	config := configDir(t)
	for name, tc := range cases {
		text, err := Installation(config, tc.folder, image, "v1.2.3", "Plimsoll v1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, text)
		if got := names(all, tc.kind); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %s %q, want %q", name, tc.kind, got, tc.want)
		}
		if !bytes.HasPrefix(text, []byte("# Plimsoll v1.2.3\n")) || bytes.Contains(text, []byte(image+":dev")) {
			t.Errorf("%s:\n%s", name, text)
		}
		again, err := Installation(config, tc.folder, image, "v1.2.3", "Plimsoll v1.2.3")
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s: rendered twice it differs (%v)", name, err)
		}
	}
	if _, err := Installation(config, ".", "example.com/other", "v1.2.3", ""); err == nil ||
		!strings.Contains(err.Error(), "nothing in it runs") {
		t.Errorf("an image that is not there: error %v", err)
	}
}

func TestDefinitions(t *testing.T) {
	text, err := Definitions(configDir(t), "Plimsoll v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	want := []string{"autoscalercheckpoints.plimsoll.dev", "verticalpodautoscalercheckpoints.autoscaling.k8s.io",
		"verticalpodautoscalers.autoscaling.k8s.io", "workloadautoscalers.plimsoll.dev"}
	if got := names(all, "CustomResourceDefinition"); !slices.Equal(got, want) || len(all) != len(want) {
		t.Errorf("%q of %d objects, want %q", got, len(all), want)
	}
}

func TestDefinitionsRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Definitions(dir, ""); err == nil || !strings.Contains(err.Error(), "none in config/crd") {
		t.Errorf("an empty folder: error %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "crd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "crd", "x.yaml"), []byte("kind: ConfigMap\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Definitions(dir, ""); err == nil || !strings.Contains(err.Error(), `the kind "ConfigMap"`) {
		t.Errorf("another kind: error %v", err)
	}
}
