package devcluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// shared is the cluster of the tests that leave it as they found it.
var shared = devclustertest.Shared{Config: devcluster.Config{MetricsServer: true, StartupDelay: time.Second}}

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		runOrphan()
		return
	}
	os.Exit(shared.Main(m))
}

// eventually polls a condition until it returns nil.
func eventually(t *testing.T, timeout time.Duration, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %v", timeout, err)
		case <-ticker.C:
		}
	}
}

func kubectl(t *testing.T, c *devcluster.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply creates objects from YAML and deletes them at the test's end.
func apply(t *testing.T, c *devcluster.Cluster, manifest string) {
	t.Helper()
	if _, err := c.KubectlInput(t.Context(), manifest, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.KubectlInput(context.Background(), manifest, "delete", "-f", "-", "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})
}

// podManifest is a pod with annotations.
func podManifest(name, annotations string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {app: %s}
  annotations: {%s}
spec:
  containers:
  - {name: web, image: simulated, resources: {requests: {cpu: 100m, memory: 64Mi}}}
`, name, name, annotations)
}
