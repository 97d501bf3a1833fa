package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/pki"
)

// Cluster is a running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	config     Config
	supervisor *supervisor
	pki        *pki.Files
	etcdURL    string
	server     string
	rest       *rest.Config
	client     kubernetes.Interface
	kubeconfig string
	nodeNames  []string
	timings    []Timing

	apiServerMu sync.Mutex
	apiServer   *process // guarded by apiServerMu once the cluster has started

	kcmMu sync.Mutex
	kcm   *process // guarded by kcmMu; nil while stopped

	metricsServerMu sync.Mutex
	metricsServer   *process // guarded by metricsServerMu; nil while stopped

	stopOnce sync.Once
	stopErr  error

	simulation *simulation
}

// Timing is how long one part took from its start until it was ready.
type Timing struct {
	Part string
	Took time.Duration
}

// RESTConfig returns an administrator's configuration without tight client-side limits.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

// Client is a clientset over RESTConfig.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// KubeconfigPath is the administrator's kubeconfig file.
func (c *Cluster) KubeconfigPath() string { return c.kubeconfig }

// Dir is the data folder; logs are in its subfolder logs.
func (c *Cluster) Dir() string { return c.supervisor.dir }

// LogPath is the log file of a part.
func (c *Cluster) LogPath(part string) string { return filepath.Join(c.Dir(), "logs", part+".log") }

// NodeNames are the simulated nodes.
func (c *Cluster) NodeNames() []string { return append([]string(nil), c.nodeNames...) }

// CA is the authority that signs the API server's and the kubelets' certificates and all client certificates.
func (c *Cluster) CA() *pki.Authority { return c.pki.CA() }

// ServingFiles issues a serving certificate for DNS names and IP addresses, for a program that reads it from files in
// Dir.
func (c *Cluster) ServingFiles(name string, hosts ...string) (certificate, key string, err error) {
	if err := c.pki.WriteServer(name, hosts...); err != nil {
		return "", "", err
	}
	return c.pki.Path(name + ".crt"), c.pki.Path(name + ".key"), nil
}

// CAFile is the file of CA's certificate.
func (c *Cluster) CAFile() string { return c.pki.Path("ca.crt") }

// Timings tells how long each part took to start, in order of readiness.
func (c *Cluster) Timings() []Timing { return append([]Timing(nil), c.timings...) }

// Failed delivers an error that names the part and quotes its log if a part ends by itself.
func (c *Cluster) Failed() <-chan error { return c.supervisor.failed }

// Env is the environment for programs that are to use this cluster: this process's, with KUBECONFIG set and the
// binaries' folder first in PATH.
func (c *Cluster) Env() []string {
	return append(os.Environ(),
		"KUBECONFIG="+c.kubeconfig, "KUBERC=off", "KUBECACHEDIR="+filepath.Join(c.Dir(), "kubectl-cache"),
		"PATH="+c.config.BinDir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Kubectl runs kubectl as administrator and returns its standard output; an error carries its standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with text on standard input, for `apply -f -`.
func (c *Cluster) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, filepath.Join(c.config.BinDir, partKubectl), args...)
	cmd.Env = c.Env()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// KubeconfigFor issues a client certificate for a user and returns the path of a kubeconfig that uses it. A user named
// system:serviceaccount:<namespace>:<name> in the groups of service accounts is that service account to RBAC.
func (c *Cluster) KubeconfigFor(user string, groups ...string) (string, error) {
	return c.pki.WriteKubeconfig(c.server, user, groups...)
}

// RestartAPIServer kills kube-apiserver with -9 and starts it again with the same flags, on the same port.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	c.apiServerMu.Lock()
	defer c.apiServerMu.Unlock()
	before := c.apiServer
	before.kill()
	p, err := c.supervisor.start(before.name, before.command[0], before.command[1:])
	if err != nil {
		return fmt.Errorf("devcluster: %w", err)
	}
	c.apiServer = p
	if err := c.awaitAPIServer(ctx); err != nil {
		return fmt.Errorf("devcluster: %w", err)
	}
	return nil
}

// RestartControllerManager ends kube-controller-manager and starts it again with other additional flags than those of
// Config. To turn its HPA loop on, pass "--controllers=*".
func (c *Cluster) RestartControllerManager(ctx context.Context, flags ...string) error {
	c.kcmMu.Lock()
	defer c.kcmMu.Unlock()
	c.stopControllerManager(ctx)
	p, err := c.startControllerManager(ctx, flags)
	if err != nil {
		return err
	}
	c.kcm = p
	return nil
}

// StopControllerManager ends kube-controller-manager until RestartControllerManager.
func (c *Cluster) StopControllerManager(ctx context.Context) {
	c.kcmMu.Lock()
	defer c.kcmMu.Unlock()
	c.stopControllerManager(ctx)
}

func (c *Cluster) stopControllerManager(ctx context.Context) {
	if c.kcm != nil {
		c.kcm.stop(ctx)
		c.kcm = nil
	}
}

// Stop ends every part and removes the data folder. Later calls return what the first did.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() {
		c.simulation.stop()
		if err := c.supervisor.stop(); err != nil {
			c.stopErr = fmt.Errorf("devcluster: stop: %w", err)
		}
	})
	return c.stopErr
}

var errStartTimeout = errors.New("the cluster did not start in time")
