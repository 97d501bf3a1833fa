package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

const (
	definitionsPoll    = 100 * time.Millisecond
	definitionsTimeout = 30 * time.Second
)

// InstallDefinitions applies the repository's CustomResourceDefinitions and waits until the API server serves them. They
// are not part of InstallPlimsoll: without them Plimsoll autoscales horizontally alone.
func (c *Cluster) InstallDefinitions(ctx context.Context) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("devcluster: config/crd/ has %d definitions: %w", len(files), err)
	}
	var definitions []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("devcluster: %w", err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(string(text), "---\n")), &definition.Object); err != nil {
			return fmt.Errorf("devcluster: %s: %w", file, err)
		}
		definitions = append(definitions, definition)
	}
	if err := c.apply(ctx, definitions); err != nil {
		return fmt.Errorf("devcluster: apply config/crd/: %w", err)
	}
	return wait.PollUntilContextTimeout(ctx, definitionsPoll, definitionsTimeout, true, func(context.Context) (bool, error) {
		// Not served yet is the reason to wait.
		served, _ := c.client.Discovery().ServerResourcesForGroupVersion("autoscaling.k8s.io/v1")
		return served != nil && len(served.APIResources) >= len(definitions), nil
	})
}
