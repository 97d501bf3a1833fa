package updater

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

const (
	leaseNamespace = "plimsoll-system"
	leaseName      = "vpa-admission-controller"
)

var shared devclustertest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// installation is what all tests share, once it is there.
var installation struct {
	once       sync.Once
	binary     string
	kubeconfig string
	err        error
}

// space is a namespace of a cluster with the vertical objects' definitions and a fresh Lease.
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
	root, err := build.Root()
	if err != nil {
		return err
	}
	if _, err := cluster.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(root, "config", "crd")); err != nil {
		return err
	}
	built, err := build.Run(ctx, build.Config{Parts: []string{"plimsoll"}, Out: os.Stderr})
	if err != nil {
		return err
	}
	installation.binary = filepath.Join(built.BinDir, "plimsoll")
	if installation.kubeconfig, err = cluster.InstallPlimsoll(ctx); err != nil {
		return err
	}
	// The harness looks into the controller's log, and there is no controller.
	if err := os.WriteFile(cluster.LogPath("plimsoll"), nil, 0o600); err != nil {
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
				return // The cluster is gone.
			}
			latest.Spec.RenewTime = ptr.To(metav1.NowMicro())
			// The next renewal is soon.
			_, _ = leases.Update(ctx, latest, metav1.UpdateOptions{})
		}
	}()
	return nil
}

// process is a running plimsoll updater that looks at one namespace each second.
type process struct {
	address string
	program *devcluster.Program
	t       *testing.T
}

func start(t *testing.T, s *harness.Space, flags ...string) *process {
	t.Helper()
	p := &process{address: freeAddress(t), t: t}
	command := append([]string{
		installation.binary, "updater", "--kubeconfig=" + installation.kubeconfig, "--address=" + p.address, "--v=1",
		"--vpa-object-namespace=" + s.Namespace, "--updater-interval=1s",
		"--admission-controller-status-lease-namespace=" + leaseNamespace, "--feature-gates=InPlace=true,CPUStartupBoost=true",
	}, flags...)
	var err error
	p.program, err = s.Cluster.StartProgram(t.Context(), "updater-"+s.Namespace, command, func(ctx context.Context) error {
		_, err := p.metric(ctx, "plimsoll_build_info", nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.program.Stop(context.WithoutCancel(t.Context()))
		log, err := os.ReadFile(s.Cluster.LogPath("updater-" + s.Namespace))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(log), "is forbidden: User ") {
			t.Error("config/ does not grant the updater what it needs")
		}
		if t.Failed() {
			t.Logf("the updater's log:\n%s", log)
		}
	})
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// passes waits until so many more passes are over.
func (p *process) passes(s *harness.Space, more float64) {
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var sum float64
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, value, labelled := strings.Cut(lines.Text(), "} ")
		if !labelled {
			series, value, _ = strings.Cut(lines.Text(), " ")
		}
		if series != name && !strings.HasPrefix(series, name+"{") || !hasAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += number
	}
	return sum, lines.Err()
}

func hasAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
