package scaling

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// failed is a test that has failed, although nothing is wrong.
type failed struct {
	testing.TB
	cleanups []func()
	said     strings.Builder
}

func (f *failed) Name() string                    { return f.TB.Name() + "/failed" }
func (f *failed) Failed() bool                    { return true }
func (f *failed) Cleanup(cleanup func())          { f.cleanups = append(f.cleanups, cleanup) }
func (f *failed) Logf(format string, args ...any) { fmt.Fprintf(&f.said, format+"\n", args...) }

// A test that fails leaves the control plane's logs, its objects and the decisions about them in a folder, and logs its
// path.
func TestFailureLeavesEvidence(t *testing.T) {
	t.Parallel()
	f := &failed{TB: t}
	s := shared.Namespace(f)
	s.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35),
		harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue("10"))))
	s.AwaitReplicas(harness.Deployment, "web", 4)
	// The scale is written before the decision is logged.
	s.AwaitDecisions("web", 1)
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
	dir, err := devclustertest.Evidence(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for file, part := range map[string]string{
		"kube-apiserver.log": "", "kube-controller-manager.log": "", "plimsoll.log": "",
		"decisions.log": "object=" + s.Name + "/web", "objects.yaml": "kind: HorizontalPodAutoscaler",
	} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(content), part) {
			t.Errorf("%s has %d bytes, and not %q: %v", file, len(content), part, err)
		}
	}
	for _, what := range []string{"the control plane's logs are in ", "and what Plimsoll decided about them are in "} {
		if !strings.Contains(f.said.String(), what+dir) {
			t.Errorf("it does not say %q but:\n%s", what+dir, f.said.String())
		}
	}
}
