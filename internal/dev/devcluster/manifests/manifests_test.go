package manifests

import (
	"path/filepath"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// TestManifestsCanBeEdited: a change of config/ copies parts of its objects, which panics on numbers that are not those
// of JSON.
func TestManifestsCanBeEdited(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Kustomization(filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	deployments := 0
	for _, object := range objects {
		if edited := object.DeepCopy(); edited.GetKind() == "Deployment" {
			deployments++
		}
	}
	if deployments == 0 {
		t.Error("config/ has no Deployment")
	}
}
