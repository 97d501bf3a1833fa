package updater

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

const (
	leaseNamespace = "plimsoll-system"
	leaseName      = "vpa-admission-controller"
)

// shared is the cluster of all tests here. Each has an updater of its own.
var shared = devclustertest.Shared{Parallel: 6}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// installation is shared by all tests, once it is there.
var installation struct {
	harness.Installation

	binary, kubeconfig string
}

// namespace is a namespace of a cluster with the vertical objects' definitions and a fresh Lease.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, install)
}

func install(ctx context.Context, cluster *devcluster.Cluster) error {
	err := cluster.InstallDefinitions(ctx)
	if err != nil {
		return err
	}
	if installation.binary, err = parts.Program(ctx); err != nil {
		return err
	}
	if installation.kubeconfig, err = cluster.InstallPlimsoll(ctx); err != nil {
		return err
	}
	if err := parts.NoController(cluster); err != nil {
		return err
	}
	return renew(ctx, cluster)
}

// renew renews the Lease as long as the cluster lives.
func renew(ctx context.Context, cluster *devcluster.Cluster) error {
	leases := cluster.Client().CoordinationV1().Leases(leaseNamespace)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("the tests"), RenewTime: ptr.To(metav1.NowMicro())},
	}
	if _, err := leases.Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return err
	}
	go func() {
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for range ticker.C {
			latest, err := leases.Get(ctx, leaseName, metav1.GetOptions{})
			if err != nil {
				continue // at the end the cluster is gone, and the process soon
			}
			latest.Spec.RenewTime = ptr.To(metav1.NowMicro())
			// The next renewal is soon.
			_, _ = leases.Update(ctx, latest, metav1.UpdateOptions{})
		}
	}()
	return nil
}

// process is a running updater, in a process of its own, that serves one namespace, with a pass every second.
type process struct {
	address string
	program *devcluster.Program
	t       *testing.T
}

func start(t *testing.T, s *harness.Namespace, flags ...string) *process {
	t.Helper()
	p := &process{address: parts.FreeAddress(t), t: t}
	command := append([]string{
		installation.binary, "controller", "--components=updater", "--kubeconfig=" + installation.kubeconfig, "--v=1",
		"--address=" + p.address, "--leader-elect=false", "--health-probe-bind-address=0", "--inspection-bind-address=0",
		"--vpa-object-namespace=" + s.Name, "--updater-interval=1s",
		"--admission-controller-status-lease-namespace=" + leaseNamespace,
		"--feature-gates=InPlace=true,CPUStartupBoost=true",
	}, flags...)
	var err error
	p.program, err = s.Cluster.StartProgram(t.Context(), "updater-"+s.Name, command, func(ctx context.Context) error {
		_, err := p.metric(ctx, "plimsoll_build_info", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	parts.Granted(t, s.Cluster, p.program, "updater-"+s.Name)
	return p
}

// passes waits until so many more passes are over.
func (p *process) passes(s *harness.Namespace, more float64) {
	p.t.Helper()
	const name, label = "vpa_updater_execution_latency_seconds_count", `step="total"`
	first, err := p.metric(p.t.Context(), name, []string{label})
	if err != nil {
		p.t.Fatal(err)
	}
	s.Eventually("passes", func(ctx context.Context) error {
		now, err := p.metric(ctx, name, []string{label})
		if err == nil && now < first+more {
			err = fmt.Errorf("%g passes", now-first)
		}
		return err
	})
}

// metric is the sum of the series with these labels.
func (p *process) metric(ctx context.Context, name string, labels []string) (float64, error) {
	return parts.Metric(ctx, p.address, name, labels...)
}
