package devcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
)

// definitionsTimeout bounds how long the API server may take to serve new kinds.
const definitionsTimeout = 30 * time.Second

// InstallDefinitions applies the repository's CustomResourceDefinitions of some API groups, or of all if none is named,
// and waits until the API server serves them. They are not part of InstallPlimsoll: without them Plimsoll follows HPAs
// and nothing else.
func (a *access) InstallDefinitions(ctx context.Context, groups ...string) error {
	definitions, err := Definitions()
	if err != nil {
		return err
	}
	definitions = slices.DeleteFunc(definitions, func(o *unstructured.Unstructured) bool {
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		return len(groups) > 0 && !slices.Contains(groups, group)
	})
	if err := manifests.Apply(ctx, a.rest, definitions); err != nil {
		return fmt.Errorf("devcluster: apply config/crd/: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, definitionsTimeout)
	defer cancel()
	return poll(ctx, func(context.Context) error {
		return manifests.Served(a.client.Discovery(), definitions)
	})
}

// Definitions are the repository's CustomResourceDefinitions.
func Definitions() ([]*unstructured.Unstructured, error) {
	root, err := build.Root()
	if err != nil {
		return nil, err
	}
	definitions, err := manifests.Files(filepath.Join(root, "config", "crd"))
	if err != nil || len(definitions) == 0 {
		return nil, fmt.Errorf("devcluster: config/crd/ has %d definitions: %w", len(definitions), err)
	}
	own, err := manifests.Kustomization(filepath.Join(root, "config", "crd", "plimsoll"))
	if err != nil || len(own) == 0 {
		return nil, fmt.Errorf("devcluster: config/crd/plimsoll/ has %d definitions: %w", len(own), err)
	}
	return append(definitions, own...), nil
}
