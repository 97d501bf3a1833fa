package devcluster

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of Config.
const (
	DefaultNodes            = 3
	DefaultStartupDelay     = 4 * time.Second
	DefaultMetricResolution = 10 * time.Second
	DefaultStartTimeout     = 90 * time.Second
)

// BinEnv names the environment variable with a folder of ready binaries.
const BinEnv = "PLIMSOLL_BIN"

// NodeShape is the capacity of each simulated node.
type NodeShape struct {
	CPUMilli    int64
	MemoryBytes int64
	Pods        int64
}

// DefaultNodeShape is a common size of machine: 16 CPUs, 64 GiB, the kubelet's default of 110 pods.
func DefaultNodeShape() NodeShape {
	return NodeShape{CPUMilli: 16000, MemoryBytes: 64 << 30, Pods: 110}
}

// Config configures a cluster. The zero value, with BinDir filled in, is a cluster of three nodes without metrics.
type Config struct {
	// BinDir is the folder of the parts' binaries, as build.Run returns it.
	BinDir string
	// ControlPlaneOnly leaves out the nodes, the scheduler and KWOK: nodes and pods are then the caller's alone, and
	// can be many more than the simulation carries. It excludes Nodes, Kubelets and MetricsServer.
	ControlPlaneOnly bool
	// Scheduler runs kube-scheduler although ControlPlaneOnly leaves it out: for nodes that are real.
	Scheduler bool
	// Nodes is the number of simulated nodes; 0 means DefaultNodes.
	Nodes int
	// NodeShape is the size of each; zero means DefaultNodeShape.
	NodeShape NodeShape
	// StartupDelay is the time from a pod's start to its readiness unless the pod's annotation sets another; 0 means
	// DefaultStartupDelay.
	StartupDelay time.Duration
	// Kubelets serves the metrics of simulated kubelets, and the pods' own metrics.
	Kubelets bool
	// MetricsServer runs metrics-server and the metrics adapter, with the Kubelets that they need.
	MetricsServer bool
	// MetricResolution is metrics-server's scrape interval; 0 means DefaultMetricResolution, its least.
	MetricResolution time.Duration
	// HPAController leaves kube-controller-manager's own HPA loop on.
	HPAController bool
	// ControllerManagerFlags are added to kube-controller-manager's or replace them by name.
	ControllerManagerFlags []string
	// APIServerFlags are added to kube-apiserver's or replace them by name.
	APIServerFlags []string
	// StartTimeout bounds the start as a whole; 0 means DefaultStartTimeout.
	StartTimeout time.Duration
	// Log is called at each part's start, as testing.T's Logf would be; nil is silence.
	Log func(format string, args ...any)
}

// completed returns a copy with the defaults filled in.
func (c Config) completed() (Config, error) {
	if c.BinDir == "" {
		return c, errors.New("devcluster: no folder of binaries given")
	}
	if c.Nodes < 0 || c.Nodes > maxNodes {
		return c, fmt.Errorf("devcluster: %d nodes asked for, 0 to %d are possible", c.Nodes, maxNodes)
	}
	c.Kubelets = c.Kubelets || c.MetricsServer
	if c.ControlPlaneOnly && (c.Nodes != 0 || c.Kubelets) {
		return c, errors.New("devcluster: a control plane alone has no simulated nodes and no metrics-server")
	}
	if c.Nodes == 0 && !c.ControlPlaneOnly {
		c.Nodes = DefaultNodes
	}
	if c.NodeShape == (NodeShape{}) {
		c.NodeShape = DefaultNodeShape()
	}
	if c.StartupDelay == 0 {
		c.StartupDelay = DefaultStartupDelay
	}
	if c.MetricResolution == 0 {
		c.MetricResolution = DefaultMetricResolution
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c, nil
}
