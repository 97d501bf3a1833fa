package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here. They change its definitions, so they run one after the other.
var shared = devclustertest.Shared{Config: devcluster.Config{ControlPlaneOnly: true}}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// releases are the folders of internal/crdschema/testdata/stored.
func releases(t *testing.T) []string {
	t.Helper()
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(root, "internal", "crdschema", "testdata", "stored", "*", "definitions"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d releases, %v", len(found), err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// applied counts the sets of definitions, so that each can be told apart from the one before.
var applied atomic.Int32

// define applies definitions and waits until the API server has them in force, not only accepted.
func define(t *testing.T, s *harness.Namespace, definitions []*unstructured.Unstructured) {
	t.Helper()
	mark := fmt.Sprintf("applied-%d", applied.Add(1))
	marked := make([]*unstructured.Unstructured, len(definitions))
	for i, definition := range definitions {
		marked[i] = definition.DeepCopy()
		for _, version := range versionsOf(marked[i]) {
			columns, _ := version["additionalPrinterColumns"].([]any)
			version["additionalPrinterColumns"] = append(columns,
				map[string]any{"name": mark, "type": "integer", "jsonPath": ".metadata.generation", "priority": int64(1)})
		}
	}
	if err := manifests.Apply(t.Context(), s.Cluster.RESTConfig(), marked); err != nil {
		t.Fatal(err)
	}
	for _, definition := range marked {
		plural, group, _ := strings.Cut(definition.GetName(), ".")
		for _, version := range versionsOf(definition) {
			if version["served"] != true {
				continue
			}
			s.Eventually("the definition of "+plural, func(ctx context.Context) error {
				table, err := s.Client.Discovery().RESTClient().Get().AbsPath("apis", group, version["name"].(string), plural).
					SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
				if err == nil && !bytes.Contains(table, []byte(`"`+mark+`"`)) {
					err = fmt.Errorf("no column %s", mark)
				}
				return err
			})
		}
	}
}

// versionsOf are the versions of a definition, to be changed.
func versionsOf(definition *unstructured.Unstructured) (versions []map[string]any) {
	spec, _ := definition.Object["spec"].(map[string]any)
	all, _ := spec["versions"].([]any)
	for i := range all {
		version, _ := all[i].(map[string]any)
		versions = append(versions, version)
	}
	return versions
}

// held is an object that a cluster holds.
type held struct {
	// manifest is what its owner applies.
	manifest *unstructured.Unstructured
	// before is what was served before the upgrade.
	before *unstructured.Unstructured
	client dynamic.ResourceInterface
}

// The managers of the fields: who applies manifests, and the controller, which applies the status.
const owner, controller = "kustomize-controller", "plimsoll"

// hold defines the kinds as a release has them, and creates its objects in the namespace.
func hold(t *testing.T, s *harness.Namespace, release string) []held {
	t.Helper()
	definitions, err := manifests.Files(filepath.Join(release, "definitions"))
	if err != nil {
		t.Fatal(err)
	}
	define(t, s, definitions)
	config := s.Cluster.RESTConfig()
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var all []held
	for _, manifest := range objectsOf(t, release) {
		kind := manifest.GroupVersionKind()
		resource := kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
		o := held{manifest: manifest, client: client.Resource(resource).Namespace(s.Name)}
		o.create(t)
		all = append(all, o)
	}
	return all
}

func objectsOf(t *testing.T, release string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(release, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			object := &unstructured.Unstructured{}
			asJSON, err := yaml.YAMLToJSONStrict(document)
			if err == nil {
				err = object.UnmarshalJSON(asJSON)
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, object)
		}
	}
	return all
}

func (o *held) create(t *testing.T) {
	t.Helper()
	stored, err := o.client.Apply(t.Context(), o.manifest.GetName(), o.manifest, metav1.ApplyOptions{FieldManager: owner})
	if err == nil && o.manifest.Object["status"] != nil {
		status := o.manifest.DeepCopy()
		delete(status.Object, "spec")
		stored, err = o.client.ApplyStatus(t.Context(), o.manifest.GetName(), status, metav1.ApplyOptions{FieldManager: controller})
	}
	if err != nil {
		t.Fatalf("%s: %v", o.manifest.GetName(), err)
	}
	for _, part := range []string{"spec", "status"} {
		for _, field := range lost(o.manifest.Object[part], stored.Object[part], part) {
			t.Errorf("%s is created without %s", o.manifest.GetName(), field)
		}
	}
	o.before = stored
}

// lost are the paths of what one value has and the other lacks, or has otherwise.
func lost(from, in any, at string) (paths []string) {
	switch value := from.(type) {
	case nil:
		return nil
	case map[string]any:
		other, _ := in.(map[string]any)
		for key, field := range value {
			paths = append(paths, lost(field, other[key], at+"."+key)...)
		}
		return paths
	case []any:
		other, _ := in.([]any)
		for i, item := range value {
			if i >= len(other) {
				return append(paths, fmt.Sprintf("%s[%d]", at, i))
			}
			paths = append(paths, lost(item, other[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return paths
	}
	if from != in {
		return []string{at}
	}
	return nil
}
