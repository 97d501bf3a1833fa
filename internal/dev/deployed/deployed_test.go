package deployed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// The Deployment that is edited is the one that is shipped: its image can be had without a registry, flags
// come after its own, and nothing else changes.
func TestEditOfTheShippedDeployment(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "base", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		t.Fatal(err)
	}
	shipped := container(t, object.DeepCopy())
	if kept, err := keep(object, []string{"-v=1"}); err != nil || !kept {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	edited := container(t, object)
	args := edited["args"].([]any)
	if edited["imagePullPolicy"] != "Never" || args[len(args)-1] != "-v=1" {
		t.Errorf("got %v", edited)
	}
	edited["imagePullPolicy"], edited["args"] = shipped["imagePullPolicy"], args[:len(args)-1]
	if diff := cmp.Diff(shipped, edited); diff != "" {
		t.Error(diff)
	}
	empty := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment"}}
	empty.SetName(deployment)
	if _, err := keep(empty, nil); err == nil {
		t.Error("edited a Deployment without containers")
	}
	for kind, want := range map[string]bool{"ServiceAccount": true,
		"ClusterRole": true, "PriorityClass": true, "MutatingWebhookConfiguration": false,
		"CustomResourceDefinition": false} {
		if kept, err := keep(&unstructured.Unstructured{Object: map[string]any{"kind": kind}}, nil); err != nil ||
			kept != want {
			t.Errorf("%s: kept %v, %v", kind, kept, err)
		}
	}
	object.SetName("plimsoll-recommender")
	if kept, err := keep(object, nil); err != nil || kept {
		t.Errorf("another Deployment: kept %v, %v", kept, err)
	}
}

func container(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers, %v", len(containers), err)
	}
	return containers[0].(map[string]any)
}
