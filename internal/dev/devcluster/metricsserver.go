package devcluster

import (
	"context"
	"fmt"
	"time"
)

// MetricsServerConfig configures metrics-server's scrapes.
type MetricsServerConfig struct {
	// Resolution is the scrape interval.
	Resolution time.Duration
	// RequestTimeout bounds a request to a kubelet. It must be shorter than Resolution; 0 means half of it, 5 s at most.
	RequestTimeout time.Duration
}

func (m MetricsServerConfig) requestTimeout() time.Duration {
	if m.RequestTimeout > 0 {
		return m.RequestTimeout
	}
	return min(5*time.Second, m.Resolution/2)
}

// RestartMetricsServer ends metrics-server, if it runs, and starts it with another configuration; it returns when the
// API server has it available. Its earlier samples are lost. It scrapes all nodes.
func (c *components) RestartMetricsServer(ctx context.Context, config MetricsServerConfig) error {
	c.metricsServerMu.Lock()
	defer c.metricsServerMu.Unlock()
	c.stopMetricsServer(ctx)
	p, err := c.startMetricsServer(ctx, config)
	if err != nil {
		return err
	}
	c.metricsServer = p
	return c.awaitAPIService(ctx, APIServiceName(resourceMetricsGroup, "v1beta1"))
}

// StopMetricsServer ends metrics-server until RestartMetricsServer, and takes back its API.
func (c *components) StopMetricsServer(ctx context.Context) error {
	c.metricsServerMu.Lock()
	defer c.metricsServerMu.Unlock()
	c.stopMetricsServer(ctx)
	return c.unregisterAPIService(ctx, APIServiceName(resourceMetricsGroup, "v1beta1"))
}

func (c *components) stopMetricsServer(ctx context.Context) {
	if c.metricsServer != nil {
		c.metricsServer.stop(ctx)
		c.metricsServer = nil
	}
}

func (c *components) startFirstMetricsServer(ctx context.Context) error {
	c.metricsServerMu.Lock()
	defer c.metricsServerMu.Unlock()
	p, err := c.startMetricsServer(ctx, MetricsServerConfig{Resolution: c.config.MetricResolution})
	c.metricsServer = p
	return err
}

// startMetricsServer runs metrics-server and registers it.
func (c *components) startMetricsServer(ctx context.Context, config MetricsServerConfig) (*process, error) {
	const name = partMetricsServer
	kubeconfig, err := c.pki.WriteKubeconfig(c.server, metricsServerUser)
	if err != nil {
		return nil, err
	}
	if err := c.pki.WriteServer(name, "127.0.0.1", APIServiceHost(resourceMetricsGroup)); err != nil {
		return nil, err
	}
	if err := c.createMetricsServerRoles(ctx); err != nil {
		return nil, err
	}
	var p *process
	err = onFreePorts(1, func(ports []int) error {
		p, err = c.run(name,
			"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file="+c.pki.Path(name+".crt"), "--tls-private-key-file="+c.pki.Path(name+".key"),
			"--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP",
			"--kubelet-certificate-authority="+c.pki.Path("ca.crt"),
			"--metric-resolution="+config.Resolution.String(), "--kubelet-request-timeout="+config.requestTimeout().String())
		if err != nil {
			return err
		}
		if err := p.await(ctx, Answers(c.anonymousClient(), "https://"+Loopback(ports[0])+"/livez")); err != nil {
			return err
		}
		return c.RegisterAPIService(ctx, APIService{
			Group: resourceMetricsGroup, Version: "v1beta1", Port: ports[0], CABundle: c.pki.CA().CertPEM(),
		})
	})
	return p, err
}
