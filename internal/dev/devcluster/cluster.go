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
	components
	simulation *simulation
	timings    []Timing

	stopOnce sync.Once
	stopErr  error
}

// access has the addresses, certificates and clients of the cluster. It does not change once the cluster has started.
type access struct {
	config     Config
	supervisor *supervisor
	pki        *pki.Files
	server     string
	rest       *rest.Config
	client     kubernetes.Interface
	kubeconfig string
	kubernetes string
	nodeNames  []string
}

// components are the processes of the cluster, and those of them that can be started again.
type components struct {
	access
	etcdURL string

	apiServerMu sync.Mutex
	apiServer   *process // guarded by apiServerMu once the cluster has started

	kcmMu sync.Mutex
	kcm   *process // guarded by kcmMu; nil while stopped

	metricsServerMu sync.Mutex
	metricsServer   *process // guarded by metricsServerMu; nil while stopped
}

// Timing is the time of one part from its start until it was ready.
type Timing struct {
	Part string
	Took time.Duration
}

// RESTConfig returns an administrator's configuration without tight client-side limits.
func (a *access) RESTConfig() *rest.Config { return rest.CopyConfig(a.rest) }

// Client is a clientset over RESTConfig.
func (a *access) Client() kubernetes.Interface { return a.client }

// Kubernetes is the version of the API server, such as v1.37.1.
func (a *access) Kubernetes() string { return a.kubernetes }

// KubeconfigPath is the administrator's kubeconfig file.
func (a *access) KubeconfigPath() string { return a.kubeconfig }

// Dir is the data folder; logs are in its subfolder logs.
func (a *access) Dir() string { return a.supervisor.dir }

// LogPath is the log file of a part.
func (a *access) LogPath(part string) string { return filepath.Join(a.Dir(), "logs", part+".log") }

// NodeNames are the simulated nodes.
func (c *Cluster) NodeNames() []string { return append([]string(nil), c.nodeNames...) }

// CA is the authority that signs the API server's and the kubelets' certificates and all client certificates.
func (a *access) CA() *pki.Authority { return a.pki.CA() }

// ServingFiles issues a serving certificate for DNS names and IP addresses, for a program that reads it from files in
// Dir.
func (a *access) ServingFiles(name string, hosts ...string) (certificate, key string, err error) {
	if err := a.pki.WriteServer(name, hosts...); err != nil {
		return "", "", err
	}
	return a.pki.Path(name + ".crt"), a.pki.Path(name + ".key"), nil
}

// CAFile is the file of CA's certificate.
func (a *access) CAFile() string { return a.pki.Path("ca.crt") }

// Timings returns the start-up time of each part, in order of readiness.
func (c *Cluster) Timings() []Timing { return append([]Timing(nil), c.timings...) }

// Failed delivers an error if a part exits unexpectedly. It names the part and quotes its log.
func (a *access) Failed() <-chan error { return a.supervisor.failed }

// Env is the environment for programs that are to use this cluster: this process's, with KUBECONFIG set and the
// binaries' folder first in PATH.
func (a *access) Env() []string {
	return append(os.Environ(),
		"KUBECONFIG="+a.kubeconfig, "KUBERC=off", "KUBECACHEDIR="+filepath.Join(a.Dir(), "kubectl-cache"),
		"PATH="+a.config.BinDir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Kubectl runs kubectl as administrator and returns its standard output; an error carries its standard error.
func (a *access) Kubectl(ctx context.Context, args ...string) (string, error) {
	return a.KubectlInput(ctx, "", args...)
}

// KubectlInput is Kubectl with text on standard input, for `apply -f -`.
func (a *access) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, filepath.Join(a.config.BinDir, partKubectl), args...)
	cmd.Env = a.Env()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "),
			err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// KubeconfigFor issues a client certificate for a user and returns the path of a kubeconfig that uses it. A user named
// system:serviceaccount:<namespace>:<name> in the groups of service accounts is that service account to RBAC.
func (a *access) KubeconfigFor(user string, groups ...string) (string, error) {
	return a.pki.WriteKubeconfig(a.server, user, groups...)
}

// RestartAPIServer kills kube-apiserver with -9 and starts it again with the same flags, on the same port.
func (c *components) RestartAPIServer(ctx context.Context) error {
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
func (c *components) RestartControllerManager(ctx context.Context, flags ...string) error {
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
func (c *components) StopControllerManager(ctx context.Context) {
	c.kcmMu.Lock()
	defer c.kcmMu.Unlock()
	c.stopControllerManager(ctx)
}

func (c *components) stopControllerManager(ctx context.Context) {
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
