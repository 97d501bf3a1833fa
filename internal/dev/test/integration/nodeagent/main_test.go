package nodeagent

import (
	"context"
	"os"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// agents is the namespace of config/node-agent.
const agents = "plimsoll-node-agent"

var (
	shared       = devclustertest.Shared{Config: devcluster.Config{MetricsServer: true}}
	installation harness.Installation
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is one of a cluster whose controller scrapes agents. There is none yet: those of the DaemonSet would be
// simulated pods.
func namespace(t testing.TB) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) error {
		if err := cluster.InstallDefinitions(ctx); err != nil {
			return err
		}
		program, err := harness.NewPlimsoll(ctx, cluster)
		if err != nil {
			return err
		}
		if _, err := cluster.KubectlInput(ctx, "", "apply", "-k", "../../../../../config/node-agent"); err != nil {
			return err
		}
		if _, err := cluster.KubectlInput(ctx, "", "delete", "daemonset", "-n", agents, "--all"); err != nil {
			return err
		}
		return program.Start(ctx, "--resource-metrics-source=auto", "--node-agent-namespace="+agents)
	})
}
