package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
)

// DefaultDir is the folder of a node's files.
const DefaultDir = "/var/lib/plimsoll-node"

// DefaultName is the node's.
const DefaultName = "real"

// kubeletPort is not the usual one, where another kubelet might be.
const kubeletPort = 10260

// Config configures a node.
type Config struct {
	// Cluster is the control plane that the node joins. It needs its scheduler: devcluster.Config's ControlPlaneOnly with
	// Scheduler.
	Cluster *devcluster.Cluster
	// BinDir is the folder of the kubelet and of pause, the parts build.Kubelet and build.Pause.
	BinDir string
	// Dir is the node's folder, which it owns: it is removed at the end and, if a killed run left it, at the start. Its
	// filesystem must carry overlays. Empty means DefaultDir.
	Dir string
	// Kubelet are fields of the KubeletConfiguration beside or instead of the node's own.
	Kubelet map[string]any
	// HousekeepingInterval is the kubelet's --housekeeping-interval: how often its cAdvisor reads a container. 0 leaves
	// the kubelet's default, 10 s.
	HousekeepingInterval time.Duration
	// Log is called at every step; nil is silence.
	Log func(format string, args ...any)
}

// Node is a running node.
type Node struct {
	config     Config
	layout     layout
	lock       *os.File
	address    netip.Addr
	service    *forwarder
	containerd *devcluster.Program
	kubelet    *devcluster.Program
}

// Start runs a node and returns it when it is ready for pods. If it fails, nothing is left behind.
func Start(ctx context.Context, config Config) (*Node, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	if err := build.CheckBinaries(config.BinDir, []string{build.Kubelet, build.Pause}); err != nil {
		return nil, fmt.Errorf("real node: %w", err)
	}
	if config.Dir == "" {
		config.Dir = DefaultDir
	}
	if config.Log == nil {
		config.Log = func(string, ...any) {}
	}
	n := &Node{config: config, layout: layout{dir: config.Dir}}
	var err error
	if n.lock, err = lockDir(config.Dir); err != nil {
		return nil, fmt.Errorf("real node: %w", err)
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("real node: %w", err), n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	left, err := leftovers(ctx, n.layout)
	if err != nil {
		return err
	}
	if left {
		n.config.Log("removing what an earlier run left in %s", n.layout.dir)
		if err := clean(ctx, n.layout); err != nil {
			return fmt.Errorf("what an earlier run left: %w", err)
		}
	}
	if err := n.prepare(ctx); err != nil {
		return err
	}
	if err := n.startContainerd(ctx); err != nil {
		return err
	}
	n.config.Log("containerd is ready")
	linked, err := showSocket(n.layout)
	if err != nil {
		return err
	}
	if !linked {
		n.config.Log("this machine has a containerd of its own: the kubelet's /metrics/cadvisor will not name containers")
	}
	if err := n.importPause(ctx); err != nil {
		return err
	}
	if err := n.startKubelet(ctx); err != nil {
		return err
	}
	n.config.Log("the kubelet is ready at %s", n.address)
	return nil
}

// prepare makes the folder, stores what is to be restored, and makes the network and the cgroup.
func (n *Node) prepare(ctx context.Context) error {
	for _, folder := range []string{"cni", "kubelet", "pod-logs", "volume-plugins", "opt"} {
		if err := os.MkdirAll(n.layout.path(folder), 0o700); err != nil {
			return fmt.Errorf("the node's folder: %w", err)
		}
	}
	if err := remember(n.layout); err != nil {
		return err
	}
	taken, err := takenPrefixes(ctx)
	if err != nil {
		return err
	}
	subnet, err := chooseSubnet(taken)
	if err != nil {
		return err
	}
	n.address = gateway(subnet)
	network, err := n.layout.networkConfig(subnet)
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.layout.path("cni", "10-"+networkName+".conflist"), network, 0o600); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := createBridge(ctx, subnet); err != nil {
		return err
	}
	server, err := url.Parse(n.config.Cluster.RESTConfig().Host)
	if err != nil {
		return fmt.Errorf("the API server's address: %w", err)
	}
	if n.service, err = forward(ctx, net.JoinHostPort(serviceAddress, "443"), server.Host); err != nil {
		return err
	}
	return createCgroup()
}

func (n *Node) startContainerd(ctx context.Context) error {
	binary, err := Find("containerd")
	if err != nil {
		return fmt.Errorf("containerd: %w", err)
	}
	runc, err := Find("runc")
	if err != nil {
		return fmt.Errorf("runc: %w", err)
	}
	path := n.layout.path("containerd.toml")
	if err := os.WriteFile(path, []byte(n.layout.containerdConfig(runc)), 0o600); err != nil {
		return fmt.Errorf("containerd: %w", err)
	}
	n.containerd, err = n.config.Cluster.StartProgram(ctx, "containerd", []string{binary,
		"--config", path}, func(ctx context.Context) error {
		_, err := n.ctr(ctx, "version")
		return err
	})
	return err
}

func (n *Node) ctr(ctx context.Context, args ...string) (string, error) {
	return output(ctx, "ctr", append([]string{"--address", n.layout.socket(), "--namespace", "k8s.io"}, args...)...)
}

func (n *Node) importPause(ctx context.Context) error {
	program, err := os.ReadFile(filepath.Join(n.config.BinDir, build.Pause))
	if err != nil {
		return fmt.Errorf("sandboxes' image: %w", err)
	}
	const path = "/pause"
	pause, err := image.Assemble([]image.File{{Path: path, Content: program, Mode: 0o755}},
		v1.Config{Entrypoint: []string{path}, User: "65535:65535"})
	if err != nil {
		return fmt.Errorf("sandboxes' image: %w", err)
	}
	return n.Import(ctx, sandboxImage, pause)
}

// Import gives the node an image under a tag. Pods use it with the pull policy Never or IfNotPresent.
func (n *Node) Import(ctx context.Context, tag string, content v1.Image) (err error) {
	file, err := os.CreateTemp(n.layout.dir, "image-*.tar")
	if err != nil {
		return fmt.Errorf("import %s: %w", tag, err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := errors.Join(image.WriteArchive(file, content, tag), file.Close()); err != nil {
		return fmt.Errorf("import %s: %w", tag, err)
	}
	if _, err := n.ctr(ctx, "images", "import", file.Name()); err != nil {
		return fmt.Errorf("import %s: %w", tag, err)
	}
	return nil
}

func (n *Node) startKubelet(ctx context.Context) error {
	cluster := n.config.Cluster
	kubeconfig, err := cluster.KubeconfigFor("system:node:"+DefaultName, "system:nodes")
	if err != nil {
		return err
	}
	certificate, key, err := cluster.ServingFiles("kubelet", DefaultName, n.address.String())
	if err != nil {
		return err
	}
	config, err := n.layout.kubeletConfig(kubeletSettings{
		address: n.address.String(), port: kubeletPort, clientCA: cluster.CAFile(), certificate: certificate, key: key,
		more: n.config.Kubelet,
	})
	if err != nil {
		return err
	}
	path := n.layout.path("kubelet.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	command := []string{
		filepath.Join(n.config.BinDir, build.Kubelet), "--config=" + path, "--kubeconfig=" + kubeconfig,
		"--root-dir=" + n.layout.path("kubelet"), "--hostname-override=" + DefaultName, "--node-ip=" + n.address.String(),
	}
	if every := n.config.HousekeepingInterval; every > 0 {
		command = append(command, "--housekeeping-interval="+every.String())
	}
	n.kubelet, err = cluster.StartProgram(ctx, "kubelet", command, n.ready)
	return err
}

// SetHousekeepingInterval restarts the kubelet if its cAdvisor is to read containers more or less often; 0 stands
// for the kubelet's default.
func (n *Node) SetHousekeepingInterval(ctx context.Context, every time.Duration) error {
	if every == n.config.HousekeepingInterval {
		return nil
	}
	n.config.HousekeepingInterval = every
	n.kubelet.Stop(ctx)
	return n.startKubelet(ctx)
}

// ready returns the reason why the node cannot take pods yet. The readiness of an earlier kubelet does not count.
func (n *Node) ready(ctx context.Context) error {
	node, err := n.config.Cluster.Client().CoreV1().Nodes().Get(ctx, DefaultName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("node %s: %w", DefaultName, err)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(n.Address(), strconv.Itoa(kubeletPort)))
	if err != nil {
		return fmt.Errorf("node %s: its kubelet does not serve yet: %w", DefaultName, err)
	}
	if err := connection.Close(); err != nil {
		return fmt.Errorf("node %s: %w", DefaultName, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return fmt.Errorf("node %s is not ready: %s", DefaultName, condition.Message)
		}
	}
	if len(node.Status.Conditions) == 0 || len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s takes no pods yet: %v", DefaultName, node.Spec.Taints)
	}
	return nil
}

// Name is the Node object's.
func (n *Node) Name() string { return DefaultName }

// Address is the node's on its bridge, from where pods can be reached and where the kubelet serves.
func (n *Node) Address() string { return n.address.String() }

// KubeletURL is the address of the kubelet; its certificate is signed by the cluster's CA.
func (n *Node) KubeletURL() string {
	return "https://" + net.JoinHostPort(n.Address(), strconv.Itoa(kubeletPort))
}

// KubeletCPU is the processor time that the kubelet has used since its start.
func (n *Node) KubeletCPU() (time.Duration, error) { return processCPU(n.kubelet.PID()) }

// stopPatience bounds the taking down of a node: most of it is waiting for containers to die.
const stopPatience = time.Minute

// Stop takes the node down and removes everything that it made. It comes before the Stop of the cluster.
func (n *Node) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	var errs []error
	if n.kubelet != nil {
		n.kubelet.Stop(ctx)
	}
	// While containerd lives it clears away what belonged to a container that dies.
	errs = append(errs, killContainers(ctx))
	if n.containerd != nil {
		n.containerd.Stop(ctx)
	}
	if n.service != nil {
		errs = append(errs, n.service.close())
	}
	errs = append(errs, clean(ctx, n.layout))
	if n.lock != nil {
		errs = append(errs, unlockDir(n.lock))
		n.lock = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take down the real node: %w", err)
	}
	return nil
}
