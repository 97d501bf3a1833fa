package forecast

import (
	"context"
	"os"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

var (
	shared       = devclustertest.Shared{Config: devcluster.Config{MetricsServer: true}}
	installation harness.Installation
	// program is Plimsoll; it is set with the first namespace.
	program *harness.Plimsoll
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is a namespace of the cluster, in which Plimsoll runs.
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

// start runs the program on the kubelets' samples, as in a cluster.
func start(ctx context.Context) error {
	return program.Start(ctx, "--resource-metrics-source=auto")
}
