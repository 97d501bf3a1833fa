//go:build keda

package keda

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// syncPeriod is the period of decisions of kube-controller-manager, and of Plimsoll in mode shadow.
const syncPeriod = 2 * time.Second

var syncFlags = []string{
	"--horizontal-pod-autoscaler-sync-period=" + syncPeriod.String(),
	"--horizontal-pod-autoscaler-downscale-stabilization=4s",
}

// The names of what may scale, in managedFields.
const (
	upstream = "kube-controller-manager"
	plimsoll = "plimsoll"
	// nobody is the writer once the count was 0, which a scale leaves out.
	nobody = ""
)

var (
	shared = devclustertest.Shared{Parallel: 1, Config: devcluster.Config{
		HPAController: true, ControllerManagerFlags: syncFlags, Nodes: 4,
	}}
	installation harness.Installation
	// program is Plimsoll, running the KEDA beside it, and load their common servers. They are set with the first
	// namespace.
	program *harness.Plimsoll
	running *keda
	load    *servers
)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// namespace is a namespace of a cluster with KEDA. Plimsoll does not run.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, func(ctx context.Context, cluster *devcluster.Cluster) (err error) {
		if load, err = serve(); err != nil {
			return err
		}
		if err := cluster.InstallDefinitions(ctx); err != nil {
			return err
		}
		if program, err = harness.NewPlimsoll(ctx, cluster); err != nil {
			return err
		}
		running = &keda{cluster: cluster}
		return running.install(ctx)
	})
}

// keda is KEDA on the cluster.
type keda struct {
	cluster   *devcluster.Cluster
	bin       string
	certs     string
	grpc      string
	kube      string
	operator  *devcluster.Program
	instances int
}

const externalMetrics = "external.metrics.k8s.io"

// install does what KEDA's manifests do, with processes in place of Deployments.
func (k *keda) install(ctx context.Context) error {
	wanted := []string{build.KEDAOperator, build.KEDAMetricsServer}
	built, err := build.Run(ctx, build.Config{Parts: wanted, Out: os.Stderr})
	if err != nil {
		return err
	}
	k.bin = built.BinDir
	if err := k.installDefinitions(ctx); err != nil {
		return err
	}
	if k.kube, err = k.cluster.KubeconfigFor("keda-operator", "system:masters"); err != nil {
		return err
	}
	k.certs = filepath.Join(k.cluster.Dir(), "keda-certificates")
	bundle, err := writeCertificates(k.certs, "localhost", devcluster.APIServiceHost(externalMetrics))
	if err != nil {
		return err
	}
	addresses, err := parts.FreeAddresses(ctx, 4)
	if err != nil {
		return err
	}
	k.grpc = "localhost:" + portOf(addresses[0])
	if err := k.startOperator(ctx); err != nil {
		return err
	}
	if err := k.startMetricsServer(ctx, addresses[1:]); err != nil {
		return err
	}
	port, err := strconv.Atoi(portOf(addresses[1]))
	if err != nil {
		return err
	}
	return k.cluster.RegisterAPIService(ctx, devcluster.APIService{
		Group: externalMetrics, Version: "v1beta1", Port: port, CABundle: bundle,
	})
}

// installDefinitions applies the definitions that the module has.
func (k *keda) installDefinitions(ctx context.Context) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2")
	list.Dir = filepath.Join(root, "tools", "keda")
	list.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	dir, err := list.Output()
	if err != nil {
		return fmt.Errorf("finding KEDA's module: %w", err)
	}
	definitions, err := manifests.Files(filepath.Join(strings.TrimSpace(string(dir)), "config", "crd", "bases"))
	if err != nil || len(definitions) == 0 {
		return fmt.Errorf("KEDA's module has %d definitions: %w", len(definitions), err)
	}
	if err := manifests.Apply(ctx, k.cluster.RESTConfig(), definitions); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := manifests.Served(k.cluster.Client().Discovery(), definitions)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// startOperator runs the operator, and again after it was stopped.
func (k *keda) startOperator(ctx context.Context) error {
	health, err := parts.FreeAddresses(ctx, 1)
	if err != nil {
		return err
	}
	k.instances++
	k.operator, err = k.cluster.StartProgram(ctx, fmt.Sprintf("keda-operator-%d", k.instances), k.command(
		build.KEDAOperator, "--kubeconfig="+k.kube, "--leader-elect=false", "--metrics-bind-address=0",
		"--metrics-service-bind-address="+k.grpc, "--health-probe-bind-address="+health[0], "--cert-dir="+k.certs,
		"--zap-log-level=info", "--kube-api-qps=200", "--kube-api-burst=400",
	), func(ctx context.Context) error { return parts.Answers(ctx, "http://"+health[0]+"/readyz") })
	return err
}

// startMetricsServer runs the metrics server: its API at the first address, its own metrics at the second.
func (k *keda) startMetricsServer(ctx context.Context, addresses []string) error {
	_, err := k.cluster.StartProgram(ctx, "keda-metrics-server", k.command(
		build.KEDAMetricsServer, "--kubeconfig="+k.kube, "--lister-kubeconfig="+k.kube,
		"--authentication-kubeconfig="+k.kube, "--authorization-kubeconfig="+k.kube,
		"--bind-address=127.0.0.1", "--secure-port="+portOf(addresses[0]), "--port="+portOf(addresses[1]),
		"--metrics-service-address="+k.grpc, "--cert-dir="+k.certs,
		"--tls-cert-file="+filepath.Join(k.certs, "tls.crt"), "--tls-private-key-file="+filepath.Join(k.certs, "tls.key"),
		"--zap-log-level=info",
	), func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", addresses[0])
		if err != nil {
			return err
		}
		return connection.Close()
	})
	return err
}

// command is a program of KEDA with the environment of its manifests.
func (k *keda) command(name string, args ...string) []string {
	return append([]string{
		"env", "WATCH_NAMESPACE=", "POD_NAMESPACE=default", "KEDA_CLUSTER_OBJECT_NAMESPACE=default",
		filepath.Join(k.bin, name),
	}, args...)
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// writeCertificates writes one certificate that is its own authority, for both ends of each connection.
func writeCertificates(dir string, hosts ...string) (bundle []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "keda"}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	for name, content := range map[string][]byte{
		"ca.crt": bundle, "tls.crt": bundle,
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return bundle, nil
}
