package crdschema

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/config"
)

var update = flag.Bool("update", false, "write the definitions of testdata/stored/next")

const (
	stored = "testdata/stored/"
	next   = stored + "next"
)

// TestStoredObjectsAreStillAccepted: what some release has stored stays valid, and keeps all its fields, under the
// definitions of this commit. testdata/stored/README.md says what is there, and what may change.
func TestStoredObjectsAreStillAccepted(t *testing.T) {
	if *update {
		writeDefinitions(t)
	}
	releases, err := filepath.Glob(stored + "*/definitions")
	if err != nil || len(releases) == 0 {
		t.Fatalf("%d releases, %v", len(releases), err)
	}
	for _, release := range releases {
		release = filepath.Dir(release)
		t.Run(filepath.Base(release), func(t *testing.T) {
			theirs, shown := definitionsOf(t, release), map[string]bool{}
			for kind, d := range theirs {
				for _, object := range storedOf(t, release, kind) {
					checkStored(t, "the definition of "+release, d, object)
					ours, err := definitions[kind]()
					if err != nil {
						t.Fatal(err)
					}
					checkStored(t, "the definition of this commit", ours, object)
					checkTyped(t, object)
					collect(object["spec"], kind+".spec", shown)
					collect(object["status"], kind+".status", shown)
				}
			}
			checkShown(t, theirs, shown)
		})
	}
}

// definitionsOf are the definitions under which a release has stored its objects, by version and kind.
func definitionsOf(t *testing.T, release string) map[string]*definition {
	t.Helper()
	files, err := filepath.Glob(release + "/definitions/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			d, err := newDefinition(v.Schema.OpenAPIV3Schema)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = d
		}
	}
	for kind := range definitions {
		if all[kind] == nil {
			t.Fatalf("%s has no definition of %s", release, kind)
		}
	}
	return all
}

// storedOf are the objects of a kind that a release has stored.
func storedOf(t *testing.T, release, kind string) []map[string]any {
	t.Helper()
	files, err := filepath.Glob(release + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			object := decode(t, document)
			is := object["apiVersion"].(string) + " " + object["kind"].(string)
			if definitions[is] == nil {
				t.Errorf("%s: there is no definition of %s", file, is)
			}
			if is == kind {
				all = append(all, object)
			}
		}
	}
	return all
}

func checkStored(t *testing.T, whose string, d *definition, object map[string]any) {
	t.Helper()
	// With the status, if there is one.
	object = runtime.DeepCopyJSON(object)
	name := object["metadata"].(map[string]any)["name"]
	if dropped := d.complete(object); len(dropped) > 0 {
		t.Errorf("%s drops %v of %s", whose, dropped, name)
	}
	if errs := d.validate(t.Context(), object); len(errs) > 0 {
		t.Errorf("%s refuses %s: %v", whose, name, errs)
	}
}

// checkTyped checks that Plimsoll reads each field: an update by a typed client would lose the others.
func checkTyped(t *testing.T, object map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var typed any = &plimsollv1alpha1.WorkloadAutoscaler{}
	if object["kind"] == "VerticalPodAutoscaler" {
		typed = &vpav1.VerticalPodAutoscaler{}
	}
	if err := yaml.UnmarshalStrict(text, typed); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

// checkShown checks that the objects of a release have every field of its definitions, so that none can be dropped
// unnoticed.
func checkShown(t *testing.T, theirs map[string]*definition, shown map[string]bool) {
	t.Helper()
	fields := map[string]bool{}
	for kind, d := range theirs {
		if definitions[kind] == nil {
			continue // Plimsoll alone writes it
		}
		for _, part := range []string{"spec", "status"} {
			properties := d.whole.Properties[part]
			fieldsOf(&properties, kind+"."+part, fields)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		// The same struct in several places needs one example.
		if !shown[field] && !slices.ContainsFunc(repeated, func(part string) bool { return strings.Contains(field, part) }) {
			t.Errorf("no stored object has %s", field)
		}
	}
}

// writeDefinitions makes the definitions of this commit those of the next release, without the descriptions.
func writeDefinitions(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"crd", "crd/plimsoll"} {
		files, err := config.Manifests.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if file.IsDir() || file.Name() == "kustomization.yaml" {
				continue
			}
			text, err := config.Manifests.ReadFile(folder + "/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			var definition map[string]any
			if err := yaml.Unmarshal(text, &definition); err != nil {
				t.Fatal(err)
			}
			dropDescriptions(definition)
			if text, err = yaml.Marshal(definition); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(next, "definitions", file.Name()), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func dropDescriptions(value any) {
	switch v := value.(type) {
	case map[string]any:
		// A field of that name has a schema, and a description is text.
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for _, below := range v {
			dropDescriptions(below)
		}
	case []any:
		for _, below := range v {
			dropDescriptions(below)
		}
	}
}
