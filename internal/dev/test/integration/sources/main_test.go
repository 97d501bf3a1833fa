package sources

import (
	"context"
	"os"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

const (
	// allowed is the range of the addresses that pods may have here. Nodes have 127.0.0.1.
	allowed = "127.90.0.0/16"
	config  = "../../../../../config/"
)

var (
	shared       = devclustertest.Shared{Config: devcluster.Config{}}
	installation harness.Installation
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is a namespace of the cluster, in which the controller may read Services and Secrets, as config/sources
// permits it.
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
		for _, rights := range []string{"sources", "sources/secrets"} {
			if _, err := cluster.KubectlInput(ctx, "", "apply", "-k", config+rights); err != nil {
				return err
			}
		}
		return program.Start(ctx, "--pod-endpoint-allowed-cidr="+allowed, "--metric-secrets",
			"--metric-server="+keda.Address())
	})
}
