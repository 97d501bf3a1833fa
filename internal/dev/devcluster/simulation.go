package devcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/adapter"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
)

// simulation has the parts that run in this process rather than in a child: the model of the pods' usage, the kubelets
// that report it, the pods that report it themselves, and the adapter that serves it as metrics.
type simulation struct {
	world    *world.World
	kubelets *kubelet.Servers
	pods     interface { // the pods' own /metrics
		Port() int
		Close()
	}
	adapter *adapter.Server
	ctx     context.Context // ends with the cluster, not with its start
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// World is the model of what the cluster's pods use; nil without metrics.
func (c *Cluster) World() *world.World { return c.simulation.world }

// Kubelets are the simulated kubelets' endpoints, with the faults that tests set; nil without metrics.
func (c *Cluster) Kubelets() *kubelet.Servers { return c.simulation.kubelets }

// PodMetricsPort is the port on which pods with the annotation world.AnnotationMetrics serve /metrics, on their own
// addresses in 127.0.0.0/8: the counter podmetrics.MetricRequests and the gauge podmetrics.MetricQueueLength. 0 without
// metrics.
func (c *Cluster) PodMetricsPort() int {
	if c.simulation.pods == nil {
		return 0
	}
	return c.simulation.pods.Port()
}

// Adapter serves custom and external metrics, with the faults that tests set; nil without metrics.
func (c *Cluster) Adapter() *adapter.Server { return c.simulation.adapter }

// startSimulation serves the kubelets, whose ports the nodes then name, and starts the model behind them.
func (c *Cluster) startSimulation(ctx context.Context) error {
	s := c.simulation
	s.begin(ctx)
	certificate, err := c.pki.CA().ServerCertificate("127.0.0.1")
	if err != nil {
		return fmt.Errorf("kubelets: %w", err)
	}
	if s.world, err = world.New(world.Config{Client: c.client}); err != nil {
		return fmt.Errorf("model of the workloads: %w", err)
	}
	s.kubelets, err = kubelet.Serve(s.ctx, kubelet.Config{
		Nodes: c.nodeNames, Source: s.world,
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		return fmt.Errorf("kubelets: %w", err)
	}
	pods, err := s.world.ServeMetrics(s.ctx)
	if err != nil {
		return err
	}
	s.pods = pods
	s.run("model of the workloads", c.supervisor, s.world.Run)
	return nil
}

// StartAdapter serves custom metrics of pods that are not simulated, in a cluster without MetricsServer. It returns
// when the API server answers for them.
func (c *Cluster) StartAdapter(ctx context.Context, source adapter.Source) error {
	c.simulation.begin(ctx)
	if err := c.startAdapter(ctx, source); err != nil {
		return fmt.Errorf("devcluster: %w", err)
	}
	for _, api := range adaptedAPIs() {
		if err := c.awaitAPIService(ctx, APIServiceName(api.Group, api.Version)); err != nil {
			return fmt.Errorf("devcluster: %w", err)
		}
	}
	return nil
}

// startAdapter serves the custom and external metrics of a source and registers them.
func (c *Cluster) startAdapter(ctx context.Context, source adapter.Source) error {
	const name = "metrics-adapter"
	kubeconfig, err := c.pki.WriteKubeconfig(c.server, name)
	if err != nil {
		return err
	}
	if err := c.pki.WriteServer(name, APIServiceHost(customMetricsGroup),
		APIServiceHost(externalMetricsGroup)); err != nil {
		return err
	}
	if err := c.bindClusterRole(ctx, name, "system:auth-delegator"); err != nil {
		return err
	}
	if err := c.bindAuthReader(ctx, name); err != nil {
		return err
	}
	s := c.simulation
	s.adapter, err = adapter.Serve(s.ctx, adapter.Config{
		Source: source, Kubeconfig: kubeconfig, CertFile: c.pki.Path(name + ".crt"), KeyFile: c.pki.Path(name + ".key"),
	})
	if err != nil {
		return err
	}
	for _, api := range adaptedAPIs() {
		api.Port, api.CABundle = s.adapter.Port(), c.pki.CA().CertPEM()
		if err := c.RegisterAPIService(ctx, api); err != nil {
			return err
		}
	}
	return nil
}

// adaptedAPIs are the group versions that the adapter serves.
func adaptedAPIs() []APIService {
	return []APIService{
		{Group: customMetricsGroup, Version: "v1beta2", Priority: 200},
		{Group: customMetricsGroup, Version: "v1beta1"},
		{Group: externalMetricsGroup, Version: "v1beta1"},
	}
}

// run runs a part in this process; its error is a failure of the cluster.
func (s *simulation) run(name string, supervisor *supervisor, part func(context.Context) error) {
	s.done.Go(func() {
		if err := part(s.ctx); err != nil && s.ctx.Err() == nil {
			supervisor.fail(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// begin is called before the first part is started.
func (s *simulation) begin(ctx context.Context) {
	if s.cancel == nil {
		s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
}

// stop ends what runs in this process and waits for it.
func (s *simulation) stop() {
	if s.cancel == nil {
		return // was not started
	}
	s.cancel()
	if s.adapter != nil {
		<-s.adapter.Done()
	}
	if s.kubelets != nil {
		s.kubelets.Close()
	}
	if s.pods != nil {
		s.pods.Close()
	}
	s.done.Wait()
}

func (s *simulation) kubeletPort(node string) int {
	if s.kubelets == nil {
		return 0
	}
	return s.kubelets.Ports()[node]
}
