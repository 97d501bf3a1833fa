package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/names"
	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// NameServer is the address of the name server: one that a Service gets only on request.
const NameServer = "10.96.0.10"

// ServiceRange is the range of Services' addresses in the development cluster.
const ServiceRange = "10.96.0.0/16"

// CPUs returns the number of processors that the kubelet counts at least. The pods of one test request up to 2.5 cores
// together, and the node's own pods some, of which they use a part.
func CPUs(atATime int) int { return 4 * max(atATime, 2) }

// healthAddress is kube-proxy's usual one, in a network of its own.
const healthAddress = "127.0.0.1:10256"

// Check returns an error with the first requirement that this machine lacks.
func Check() error {
	return realnode.Check(
		realnode.Requirement{Program: "iptables", Package: "iptables"},
		realnode.Requirement{Program: stress, Package: "stress"},
		realnode.Requirement{Program: "ldd", Package: "libc-bin"},
	)
}

// stage is the cluster that the tests run against.
type stage struct {
	cluster *devcluster.Cluster
	node    *realnode.Node
	names   *names.Server
}

func startStage(ctx context.Context, c *Config) (*stage, error) {
	cluster, err := devcluster.Start(ctx, devcluster.Config{
		BinDir: c.BinDir, ControlPlaneOnly: true, Scheduler: true, Log: c.Say,
	})
	if err != nil {
		return nil, err
	}
	s := &stage{cluster: cluster}
	if err := s.start(ctx, c); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, c *Config) error {
	var err error
	if s.node, err = realnode.Start(ctx, realnode.Config{
		Cluster: s.cluster, BinDir: c.BinDir, Log: c.Say,
		Kubelet: map[string]any{"clusterDNS": []string{NameServer}, "clusterDomain": names.Domain},
	}); err != nil {
		return err
	}
	if s.names, err = names.Serve(ctx, net.JoinHostPort(NameServer, "53"), s.cluster.Client()); err != nil {
		return err
	}
	if err := s.startProxy(ctx, c.BinDir); err != nil {
		return err
	}
	c.Say("kube-proxy and the name server are ready")
	agnhost, err := newAgnhost(c.BinDir)
	if err != nil {
		return err
	}
	consumer, err := newConsumer(ctx, c.BinDir)
	if err != nil {
		return err
	}
	if err := s.importAll(ctx, map[string]v1.Image{agnhostImage: agnhost, consumerImage: consumer}); err != nil {
		return err
	}
	if err := deployed.Import(ctx, s.node, c.Plimsoll); err != nil {
		return err
	}
	return c.suite().system.prepare(ctx, s)
}

// importAll gives the node images by their names.
func (s *stage) importAll(ctx context.Context, images map[string]v1.Image) error {
	for tag, content := range images {
		if err := s.node.Import(ctx, tag, content); err != nil {
			return err
		}
	}
	return nil
}

// startProxy makes the addresses of Services work. Pods are on one bridge, where answers would come back past the
// translation: all is masqueraded. What it would set in the kernel stays as it is.
func (s *stage) startProxy(ctx context.Context, binDir string) error {
	kubeconfig, err := s.cluster.KubeconfigFor("system:kube-proxy")
	if err != nil {
		return err
	}
	_, err = s.cluster.StartProgram(ctx, "kube-proxy", []string{
		filepath.Join(binDir, build.KubeProxy), "--kubeconfig=" + kubeconfig, "--hostname-override=" + s.node.Name(),
		"--proxy-mode=iptables", "--masquerade-all", "--iptables-localhost-nodeports=false",
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0s", "--conntrack-tcp-timeout-close-wait=0s",
		"--oom-score-adj=0", "--healthz-bind-address=" + healthAddress,
	}, healthy)
	return err
}

func healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+healthAddress+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("kube-proxy: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("kube-proxy: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("kube-proxy: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("kube-proxy: %s", response.Status)
	}
	return nil
}

// close takes everything down.
func (s *stage) close() error {
	var err error
	if s.names != nil {
		err = s.names.Close()
	}
	if s.node != nil {
		err = errors.Join(err, s.node.Stop())
	}
	return errors.Join(err, s.cluster.Stop())
}
