package scale

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/agents"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// Kind is an autoscaler.
type Kind string

// The autoscalers.
const (
	Upstream Kind = "upstream"
	Plimsoll Kind = "plimsoll"
)

// Subject is an autoscaler with the flags that it is measured with.
type Subject struct {
	Name  string   `json:"name"`
	Kind  Kind     `json:"kind"`
	Flags []string `json:"flags"`
	// HalfWorkloadAutoscalers gives every second workload a WorkloadAutoscaler instead of its HPA.
	HalfWorkloadAutoscalers bool `json:"halfWorkloadAutoscalers,omitempty"`
	// OwnMetrics gives every workload a WorkloadAutoscaler instead of its HPA, on what its pods serve themselves.
	OwnMetrics bool `json:"ownMetrics,omitempty"`
	// HasLearnt starts each object with a full history and a learnt forecast.
	HasLearnt bool `json:"hasLearnt,omitempty"`
	// NodeAgents has the controller request the agents of nodes.
	NodeAgents bool `json:"nodeAgents,omitempty"`
	// Pages is the number of open pages of plimsoll ui, each on an autoscaler.
	Pages int `json:"pages,omitempty"`
}

// isCompared reports whether it is held against the same flags with HPAs alone.
func (s *Subject) isCompared() bool {
	return s.HasLearnt || s.NodeAgents || s.Pages > 0 || s.autoscalers() != population.HPAs
}

// autoscalers are those of the workloads while the subject runs.
func (s *Subject) autoscalers() population.Autoscalers {
	switch {
	case s.OwnMetrics:
		return population.OwnMetrics
	case s.HalfWorkloadAutoscalers:
		return population.Half
	default:
		return population.HPAs
	}
}

// OpenedFlags are kube-controller-manager's limits, opened as far as makes sense.
func OpenedFlags() []string {
	return []string{"--concurrent-horizontal-pod-autoscaler-syncs=50", "--kube-api-qps=2000", "--kube-api-burst=4000"}
}

// running is an autoscaler that runs.
type running struct {
	program *devcluster.Program
	metrics string // URL
	// inspection is Plimsoll's address for history.
	inspection string
	began      time.Time
}

// launcher starts autoscalers on one cluster.
type launcher struct {
	cluster    *devcluster.Cluster
	controller string // kube-controller-manager's binary
	plimsoll   string // Plimsoll's
	nice       int
	rights     string // kubeconfig of Plimsoll's service account
	serving    files  // certificate of upstream's own pages
	client     *http.Client
	agents     *agents.Agents // nil without
}

// files are a certificate and its key.
type files struct{ certificate, key string }

func newLauncher(ctx context.Context, cluster *devcluster.Cluster, c *Config) (*launcher, error) {
	rights, err := cluster.InstallPlimsoll(ctx)
	if err != nil {
		return nil, err
	}
	var serving files
	if serving.certificate, serving.key, err = cluster.ServingFiles("upstream-serving", "127.0.0.1"); err != nil {
		return nil, err
	}
	return &launcher{
		cluster: cluster, controller: filepath.Join(c.BinDir, "kube-controller-manager"), plimsoll: c.Plimsoll, nice: c.Nice,
		rights: rights, serving: serving,
		client: &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: cluster.CA().Pool(), MinVersion: tls.VersionTLS12},
		}},
	}, nil
}

func (l *launcher) logPath(subject Subject) string { return l.cluster.LogPath(string(subject.Kind)) }

// start runs a subject until it is ready. More flags come after its own and win.
func (l *launcher) start(ctx context.Context, subject Subject, more []string) (*running, error) {
	ports, err := devcluster.FreePorts(3)
	if err != nil {
		return nil, err
	}
	r := &running{inspection: devcluster.Loopback(ports[2]), began: time.Now()}
	command := l.plimsollCommand(ports)
	r.metrics = "http://" + devcluster.Loopback(ports[0]) + "/metrics"
	health := "http://" + devcluster.Loopback(ports[1]) + "/readyz"
	if subject.Kind == Upstream {
		r.metrics, health = "https://"+devcluster.Loopback(ports[0])+"/metrics", "https://"+devcluster.Loopback(ports[0])+
			"/healthz"
		if command, err = l.upstreamCommand(ports[0]); err != nil {
			return nil, err
		}
	}
	if subject.OwnMetrics {
		command = append(command, "--pod-endpoint-allowed-cidr=127.0.0.0/8")
	}
	if subject.NodeAgents {
		command = append(command, "--node-agent-namespace="+agents.Namespace,
			"--node-agent-port="+strconv.Itoa(l.agents.Port()))
	}
	command = niced(l.nice, append(append(command, subject.Flags...), more...))
	r.program, err = l.cluster.StartProgram(ctx, string(subject.Kind),
		command, devcluster.Answers(l.client, health))
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", subject.Name, err)
	}
	return r, nil
}

// upstreamCommand is kube-controller-manager with this one controller, which has a service account of its own as it has
// in most clusters. No leader election, as there is one instance.
func (l *launcher) upstreamCommand(port int) ([]string, error) {
	kubeconfig, err := l.cluster.KubeconfigFor("system:kube-controller-manager")
	if err != nil {
		return nil, err
	}
	return []string{
		l.controller, "--controllers=horizontal-pod-autoscaler-controller", "--use-service-account-credentials=true",
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + l.serving.certificate, "--tls-private-key-file=" + l.serving.key,
		"--authorization-always-allow-paths=/healthz,/metrics",
	}, nil
}

func (l *launcher) plimsollCommand(ports []int) []string {
	return []string{
		l.plimsoll, "controller", "--kubeconfig=" + l.rights, "--leader-elect=false",
		"--metrics-bind-address=" + devcluster.Loopback(ports[0]), "--health-probe-bind-address=" +
			devcluster.Loopback(ports[1]),
		"--inspection-bind-address=" + devcluster.Loopback(ports[2]), "--horizontal-pod-autoscalers=act",
	}
}

// process reads a running autoscaler's own metrics.
func (l *launcher) process(ctx context.Context, r *running) (process, error) {
	p, err := exposition.Fetch(ctx, l.client, r.metrics)
	if err != nil {
		return process{}, err
	}
	return page{p}.process(time.Now()), nil
}
