package chart

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

const (
	configDir = "../../config"
	chartDir  = "../../charts/plimsoll"
	// namespace is where config/ installs.
	namespace = "plimsoll-system"
)

var update = flag.Bool("update", false, "write the files that are generated, and the golden files")

// load reads the chart as helm does.
func load(t testing.TB) *v2.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render are the objects and the notes of a release, or what Helm refuses it for.
func render(t testing.TB, namespace, values string) ([]*unstructured.Unstructured, string, error) {
	t.Helper()
	set := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &set); err != nil {
		t.Fatal(err)
	}
	chart := load(t)
	release := common.ReleaseOptions{Name: "plimsoll", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, set, release, nil)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, "", err
	}
	var objects []*unstructured.Unstructured
	notes := ""
	for name, text := range files {
		switch filepath.Ext(name) {
		case ".txt":
			notes = text
		case ".yaml":
			objects = append(objects, decode(t, name, text)...)
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(key(a), key(b)) })
	return objects, notes, nil
}

// mustRender is render for values that the chart takes.
func mustRender(t testing.TB, namespace, values string) []*unstructured.Unstructured {
	t.Helper()
	objects, _, err := render(t, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// decode are the objects of a stream of YAML. Strict: a key that is there twice is an error.
func decode(t testing.TB, name, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufferedReader(text))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// key names an object.
func key(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// TestReadsOutside reads the variable that make sets to a sum over charts, config and docs. The go command remembers the
// results of this module's tests, and does not see those files change.
func TestReadsOutside(*testing.T) { _ = os.Getenv(build.OutsideEnv) }

// read is a file of the repository.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compareFile compares a generated file with what it should be, or writes it.
func compareFile(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s is stale: run make chart and read what changes\n%s", path, unified(t, string(got), want))
	}
}
