package migrate

import (
	"context"
	"os"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// often makes kube-controller-manager decide often, and still far less often than Plimsoll: a WorkloadAutoscaler that
// acts beside an HPA is the first to scale.
const often = "--horizontal-pod-autoscaler-sync-period=5s"

// The names of the two controllers in managedFields.
const (
	upstream = "kube-controller-manager"
	plimsoll = "plimsoll"
)

// shared is the cluster of all tests here. Its nodes have room for the pods of 200 workloads and more.
var (
	shared = devclustertest.Shared{Parallel: 40, Config: devcluster.Config{
		MetricsServer: true, HPAController: true, ControllerManagerFlags: []string{often}, Nodes: 5,
	}}
	installation harness.Installation
	// program is the tested program; it is set with the first namespace.
	program *harness.Plimsoll
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is a namespace of the cluster, in which Plimsoll leaves HPAs to the other loop.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) (err error) {
		if err := cluster.InstallDefinitions(ctx); err != nil {
			return err
		}
		if err := installScaledObjects(ctx, cluster); err != nil {
			return err
		}
		if program, err = harness.NewPlimsoll(ctx, cluster); err != nil {
			return err
		}
		return program.Start(ctx, "--horizontal-pod-autoscalers=ignore", "--status-interval=1m")
	})
}
