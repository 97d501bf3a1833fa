package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
)

// TestVerticalSideIsDeletedByItself: deleting config/vertical from a full installation leaves what config/horizontal
// installs, and the definitions, with the objects that people have made; nothing else.
func TestVerticalSideIsDeletedByItself(t *testing.T) {
	names := func(dir string) map[string]bool {
		all := map[string]bool{}
		for _, object := range rendered(t, dir) {
			accessor, err := meta.Accessor(object)
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprint(object.GetObjectKind().GroupVersionKind().GroupKind(), " ", accessor.GetNamespace(), "/",
				accessor.GetName())] = true
		}
		return all
	}
	left := names(configDir)
	for name := range names(configDir + "/vertical") {
		if !left[name] {
			t.Errorf("%s is deleted, and not part of an installation", name)
		}
		delete(left, name)
	}
	// Definitions are no part of what rendered returns. Kustomize refuses two parts that have the same ones.
	if diff := cmp.Diff(names(horizontalDir), left); diff != "" {
		t.Errorf("(-horizontal +what is left)\n%s", diff)
	}
}
