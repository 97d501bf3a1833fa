package devcluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/pki"
)

// Start runs a cluster and returns it when it is ready for workloads: the control plane answers, the nodes are there,
// pods can be created in namespace default and, with MetricsServer, the metrics APIs are available.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	config, err := config.completed()
	if err != nil {
		return nil, err
	}
	if err := build.CheckBinaries(config.BinDir, runningParts(config)); err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	began := time.Now()
	s, err := newSupervisor()
	if err != nil {
		return nil, fmt.Errorf("devcluster: %w", err)
	}
	c := &Cluster{components: components{access: access{config: config, supervisor: s}}, simulation: &simulation{}}
	for i := range config.Nodes {
		c.nodeNames = append(c.nodeNames, nodeName(i))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, config.StartTimeout, errStartTimeout)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("devcluster: %w", err), c.Stop())
	}
	config.Log("cluster ready after %s", rounded(time.Since(began)))
	return c, nil
}

func runningParts(config Config) []string {
	parts := []string{partEtcd, partAPIServer, partControllerManager}
	if config.Scheduler || !config.ControlPlaneOnly {
		parts = append(parts, partScheduler)
	}
	if !config.ControlPlaneOnly {
		parts = append(parts, partKWOK)
	}
	if config.MetricsServer {
		parts = append(parts, partMetricsServer)
	}
	return parts
}

// start goes through the parts in order of need; those that need only the API server start together.
func (c *Cluster) start(ctx context.Context) error {
	clock := &stopwatch{cluster: c}
	var err error
	if err = clock.time("certificates", func() error {
		c.pki, err = pki.New(c.Dir()+"/pki", serviceRangeFirstIP)
		return err
	}); err != nil {
		return err
	}
	if err := clock.time(partEtcd, func() error { return c.startEtcd(ctx) }); err != nil {
		return err
	}
	if err := clock.time(partAPIServer, func() error { return c.startAPIServer(ctx) }); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	steps := map[string]func() error{partControllerManager: func() error { return c.startFirstControllerManager(ctx) }}
	if c.config.Scheduler || !c.config.ControlPlaneOnly {
		steps[partScheduler] = func() error { return c.startScheduler(ctx) }
	}
	if !c.config.ControlPlaneOnly {
		steps["nodes and "+partKWOK] = func() error { return errors.Join(c.createNodes(ctx), c.startKWOK(ctx)) }
	}
	if c.config.Kubelets {
		if err := c.startSimulation(ctx); err != nil {
			return err
		}
	}
	if c.config.MetricsServer {
		steps[partMetricsServer] = func() error { return c.startFirstMetricsServer(ctx) }
		steps["metrics adapter"] = func() error { return c.startAdapter(ctx, c.simulation.world) }
	}
	if err := clock.together(steps); err != nil {
		return err
	}
	return clock.time("readiness", func() error { return c.awaitReady(ctx) })
}

func (a *access) connect() error {
	var err error
	if a.rest, err = a.pki.RESTConfig(a.server); err != nil {
		return err
	}
	if a.client, err = kubernetes.NewForConfig(a.rest); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	version, err := a.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("version of the API server: %w", err)
	}
	a.kubernetes = version.GitVersion
	a.kubeconfig, err = a.pki.WriteKubeconfig(a.server, "admin", "system:masters")
	return err
}

func (c *components) startFirstControllerManager(ctx context.Context) error {
	p, err := c.startControllerManager(ctx, c.config.ControllerManagerFlags)
	if err != nil {
		return err
	}
	c.kcmMu.Lock()
	defer c.kcmMu.Unlock()
	c.kcm = p
	return nil
}

// awaitReady waits for what the parts make only after they report healthy: the default service account, without which
// no pod can be created, and the aggregated APIs.
func (c *Cluster) awaitReady(ctx context.Context) error {
	err := poll(ctx, func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("default service account: %w", err)
	}
	if !c.config.MetricsServer {
		return nil
	}
	for _, api := range append(adaptedAPIs(), APIService{Group: resourceMetricsGroup, Version: "v1beta1"}) {
		if err := c.awaitAPIService(ctx, APIServiceName(api.Group, api.Version)); err != nil {
			return err
		}
	}
	return nil
}

// poll repeats check until it succeeds or the context ends.
func poll(ctx context.Context, check func(context.Context) error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// ignoreExists makes creation idempotent.
func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// stopwatch times the steps of a start.
type stopwatch struct {
	cluster *Cluster
	mu      sync.Mutex
}

func (s *stopwatch) time(name string, step func() error) error {
	began := time.Now()
	if err := step(); err != nil {
		return err
	}
	took := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.timings = append(s.cluster.timings, Timing{Part: name, Took: took})
	s.cluster.config.Log("%-24s ready after %s", name, rounded(took))
	return nil
}

// together runs steps at the same time and waits for all.
func (s *stopwatch) together(steps map[string]func() error) error {
	results := make(chan error, len(steps))
	for name, step := range steps {
		go func() { results <- s.time(name, step) }()
	}
	var all []error
	for range steps {
		all = append(all, <-results)
	}
	return errors.Join(all...)
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
