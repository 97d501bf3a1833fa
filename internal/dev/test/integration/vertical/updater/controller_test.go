package updater

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// plimsoll controller runs the updater too, on the caches that it has anyway.
func TestControllerUpdates(t *testing.T) {
	w := newWorld(t, 2, nil)
	before := w.ready(t.Context())
	p := &process{address: parts.FreeAddress(t), t: t}
	name := "controller-" + w.Name
	program, err := w.Cluster.StartProgram(t.Context(), name, []string{
		installation.binary, "controller", "--kubeconfig=" + installation.kubeconfig, "--metrics-bind-address=" + p.address,
		"--v=1",
		"--leader-elect=false", "--health-probe-bind-address=0", "--inspection-bind-address=0",
		"--resource-metrics-source=api",
		"--vpa-object-namespace=" + w.Name, "--updater-interval=1s", "--feature-gates=InPlace=true",
		"--updater-admission-controller-status-lease-namespace=" + leaseNamespace,
	}, func(ctx context.Context) error {
		_, err := p.metric(ctx, "plimsoll_build_info", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Stop(context.WithoutCancel(t.Context()))
		if log, err := os.ReadFile(w.Cluster.LogPath(name)); t.Failed() {
			t.Logf("the controller's log (%v):\n%s", err, log)
		}
	})
	// Another recommender's object: this one has no samples.
	w.KubectlInput(strings.Join([]string{
		`{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"web"},"spec":{"recommenders":[{"name":"other"}],`,
		`"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":"InPlace"}}}`,
	}, ""), "create", "-f", "-")
	w.recommendNow("150m")
	w.awaitResized("150m", before)
	p.passes(w.Namespace, 1)
}
