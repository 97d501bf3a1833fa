package whole

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

const own = "plimsoll-system"

// Passes of a few seconds, and a floor that is out of the way.
var flags = []string{
	"--leader-elect=false", "--recommender-interval=2s", "--pod-recommendation-min-cpu-millicores=1",
	"--pod-recommendation-min-memory-mb=1",
	"--updater-interval=3s", "--feature-gates=InPlace=true,CPUStartupBoost=true",
	"--updater-admission-controller-status-lease-namespace=" + own, "--resource-metrics-source=auto",
	// Nearly all pods of this cluster are replaced within minutes.
	"--updater-max-eviction-percent=0",
}

var shared devclustertest.Shared

func TestMain(m *testing.M) {
	// The admission controller reads where it runs from its environment, which is that of the tests.
	if err := os.Setenv("NAMESPACE", own); err != nil {
		panic(err)
	}
	shared.Config = devcluster.Config{MetricsServer: true}
	os.Exit(shared.Main(m))
}

// installation is shared by all tests, once it is there.
var installation struct {
	harness.Installation

	plimsoll *harness.Plimsoll
	client   *vpa.Client
	// health is the admission controller's address for metrics.
	health string
}

// namespace is a namespace of a cluster with an admission controller. Plimsoll itself does not run yet.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, install)
}

func install(ctx context.Context, cluster *devcluster.Cluster) error {
	in := &installation
	if err := cluster.InstallDefinitions(ctx); err != nil {
		return err
	}
	var err error
	if in.client, err = vpa.New(cluster.RESTConfig()); err != nil {
		return err
	}
	if in.plimsoll, err = harness.NewPlimsoll(ctx, cluster); err != nil {
		return err
	}
	if err := parts.InstallWebhook(ctx, cluster); err != nil {
		return err
	}
	binary, err := parts.Program(ctx)
	if err != nil {
		return err
	}
	kubeconfig, err := parts.ServiceAccount(cluster, "plimsoll-admission-controller")
	if err != nil {
		return err
	}
	if kubeconfig, err = lagging(cluster.Dir(), kubeconfig); err != nil {
		return err
	}
	addresses, err := parts.FreeAddresses(ctx, 2)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return err
	}
	in.health = addresses[1]
	_, err = cluster.StartProgram(ctx, "admission", []string{
		binary, "admission-controller", "--kubeconfig=" + kubeconfig, "--port=" + port, "--address=" + in.health, "--v=1",
		"--register-by-url", "--webhook-address=https://127.0.0.1", "--webhook-port=" + port,
		"--webhook-cert-secret=plimsoll-webhook-certs",
		"--status-lease-update-interval=1s", "--feature-gates=CPUStartupBoost=true,InPlace=true",
	}, func(ctx context.Context) error { return parts.Answers(ctx, "http://"+in.health+"/readyz") })
	return err
}
