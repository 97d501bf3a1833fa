package whole

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

const own = "plimsoll-system"

// Passes of a second, and a floor that is out of the way.
var flags = []string{
	"--leader-elect=false", "--recommender-interval=2s", "--pod-recommendation-min-cpu-millicores=1", "--pod-recommendation-min-memory-mb=1",
	"--updater-interval=1s", "--updater-feature-gates=InPlace=true,CPUStartupBoost=true",
	"--updater-admission-controller-status-lease-namespace=" + own, "--resource-metrics-source=auto",
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

// installation is what all tests share, once it is there.
var installation struct {
	once     sync.Once
	plimsoll *harness.Plimsoll
	client   *vpa.Client
	// health is the admission controller's address for metrics.
	health string
	err    error
}

// space is a namespace of a cluster with an admission controller. Plimsoll itself does not run yet.
func space(t *testing.T) *harness.Space {
	t.Helper()
	cluster := shared.Cluster(t)
	in := &installation
	in.once.Do(func() { in.err = install(context.WithoutCancel(t.Context()), cluster) })
	if in.err != nil {
		t.Fatal(in.err)
	}
	return harness.NewSpace(t, cluster)
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
	built, err := build.Run(ctx, build.Config{Parts: []string{"plimsoll"}, Out: os.Stderr})
	if err != nil {
		return err
	}
	kubeconfig, err := cluster.KubeconfigFor("system:serviceaccount:"+own+":plimsoll-admission-controller",
		"system:serviceaccounts", "system:serviceaccounts:"+own, "system:authenticated")
	if err != nil {
		return err
	}
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return err
	}
	in.health = "127.0.0.1:" + ports[1]
	_, err = cluster.StartProgram(ctx, "admission", []string{
		built.BinDir + "/plimsoll", "admission-controller", "--kubeconfig=" + kubeconfig, "--port=" + ports[0], "--address=" + in.health, "--v=1",
		"--register-by-url", "--webhook-address=https://127.0.0.1", "--webhook-port=" + ports[0], "--webhook-cert-secret=plimsoll-webhook-certs",
		"--status-lease-update-interval=1s", "--feature-gates=CPUStartupBoost=true,InPlace=true",
	}, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+in.health+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("not ready: %s", response.Status)
		}
		return nil
	})
	return err
}

func freePorts(ctx context.Context, count int) ([]string, error) {
	var ports []string
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close()
		}
	}()
	for range count {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
