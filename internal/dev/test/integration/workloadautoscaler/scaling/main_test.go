package scaling

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// often makes kube-controller-manager decide about as often as Plimsoll.
const often = "--horizontal-pod-autoscaler-sync-period=2s"

// The names of the two controllers in managedFields.
const (
	upstream = "kube-controller-manager"
	plimsoll = "plimsoll"
)

// shared is the cluster of all tests here; kube-controller-manager's loop is on in it.
var (
	shared = devclustertest.Shared{Config: devcluster.Config{
		MetricsServer: true, HPAController: true, ControllerManagerFlags: []string{often},
	}}
	installation harness.Installation
	// program is Plimsoll; it is set with the first namespace.
	program *harness.Plimsoll
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// delay is the takeover delay.
const delay = 20 * time.Second

// namespace is a namespace of the cluster, in which Plimsoll finds that the other loop acts on HPAs.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) error {
		if err := cluster.InstallDefinitions(ctx); err != nil {
			return err
		}
		var err error
		if program, err = harness.NewPlimsoll(ctx, cluster); err != nil {
			return err
		}
		return start(ctx)
	})
}

// start runs the program.
func start(ctx context.Context) error {
	return program.Start(ctx, "--horizontal-pod-autoscalers=auto",
		"--horizontal-pod-autoscaler-takeover-delay="+delay.String())
}
