// Package sources wires the sources of metrics: the metrics APIs, and the sources that Plimsoll reads itself.
//
// The clients of pods and servers do not get the configuration of the API server's client, so none can send them its
// credentials.
package sources

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler"
	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/promquery"
	"github.com/plimsoll-dev/plimsoll/internal/collect/reach"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/secrets"
	"github.com/plimsoll-dev/plimsoll/internal/kube/services"
	observesources "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Config configures the sources, from flags.
type Config struct {
	// Servers has the servers that objects may use besides Services of their own namespace (--metric-server).
	Servers []reach.Server
	// ScalersAddress and ScalersCAFile are those of plimsoll-scalers (--scalers-address, --scalers-ca-file).
	ScalersAddress string
	ScalersCAFile  string
	// ClusterDomain is that of Services in DNS (--cluster-domain).
	ClusterDomain string
	// ReadsSecrets permits credentials from Secrets (--metric-secrets).
	ReadsSecrets bool
	// PodInterval, PodMaxPerSecond, PodMaxCPU and PodMaxConcurrent are those of podendpoint.Config.
	PodInterval      time.Duration
	PodMaxPerSecond  float64
	PodMaxCPU        float64
	PodMaxConcurrent int
	// PodCIDRs permit pods with addresses that are refused otherwise (--pod-endpoint-allowed-cidr).
	PodCIDRs []netip.Prefix
	// MetricsTimeout and MetricsRequests are those of the metrics APIs.
	MetricsTimeout  time.Duration
	MetricsRequests int
}

// Cluster has the clients and caches of the sources.
type Cluster struct {
	Client kubernetes.Interface
	// Pods is the cache of pods, which the caller starts.
	Pods *podcache.Cache
	// SyncPeriod is the longest time between two decisions about an object.
	SyncPeriod time.Duration
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// MetricsAPIs returns the source that reads the metrics APIs.
func (c *Config) MetricsAPIs(
	config *rest.Config, mapper meta.RESTMapper, cluster *Cluster,
) (*metricsapi.Client, error) {
	return metricsapi.New(metricsapi.Config{
		Rest: config, Mapper: mapper, Timeout: c.MetricsTimeout, DiscoveryPeriod: cluster.SyncPeriod,
		Slots: c.MetricsRequests, Period: cluster.SyncPeriod, Log: cluster.Log, Registerer: cluster.Registerer,
	})
}

// Own makes the sources that Plimsoll reads itself. They read nothing before their Run.
func (c *Config) Own(cluster *Cluster) (own.Sources, error) {
	nodes := newNodes(cluster.Client)
	scalersServer, servers, err := c.scalers()
	if err != nil {
		return own.Sources{}, err
	}
	rules := reach.Rules{Servers: servers, PodCIDRs: c.PodCIDRs, IsNode: nodes.addresses.Has}
	resolver, err := services.New(services.Config{
		Client: cluster.Client.CoreV1(), Pods: podsOf(cluster.Pods), Check: rules.CheckPod,
	})
	if err != nil {
		return own.Sources{}, err
	}
	credential, err := c.credential(cluster.Client)
	if err != nil {
		return own.Sources{}, err
	}
	dial := &dialer{reach.NewDialer(reach.Config{
		Rules: rules, Services: resolver.Addresses, ClusterDomain: c.ClusterDomain,
	}), nodes}
	pods, err := podendpoint.New(podendpoint.Config{
		DialPod: dial.DialPod, Secret: credential, Interval: c.PodInterval, MaxPerSecond: c.PodMaxPerSecond,
		MaxCPU: c.PodMaxCPU, MaxConcurrent: c.PodMaxConcurrent, Registerer: cluster.Registerer, Log: cluster.Log,
	})
	if err != nil {
		return own.Sources{}, err
	}
	queries, err := promquery.New(promquery.Config{
		Resolve: dial.Resolve, Credential: credential, Registerer: cluster.Registerer, Log: cluster.Log,
	})
	if err != nil {
		return own.Sources{}, err
	}
	scalers, err := externalscaler.New(externalscaler.Config{
		Dial: dial.Dial, Lookup: credential, Registerer: cluster.Registerer, Scalers: scalersServer,
	})
	if err != nil {
		return own.Sources{}, err
	}
	selectors := services.NewSelectors(cluster.Client)
	start := func(ctx context.Context) {
		nodes.start(ctx)
		go selectors.Run(ctx)
	}
	return own.Sources{
		Start: start, Pods: pods, Prometheus: queries, Scalers: scalers, ServiceSelector: selectors.Of,
	}, nil
}

// scalers returns the server of metrics of type Scaler, and all servers that objects may use, that one among them.
func (c *Config) scalers() (externalscaler.Scalers, []reach.Server, error) {
	if c.ScalersAddress == "" {
		return externalscaler.Scalers{}, c.Servers, nil
	}
	server, err := reach.ParseServer(c.ScalersAddress)
	if err != nil {
		return externalscaler.Scalers{}, nil, fmt.Errorf("--scalers-address: %w", err)
	}
	scalers := externalscaler.Scalers{Address: server.String()}
	if c.ScalersCAFile != "" {
		bundle, err := os.ReadFile(c.ScalersCAFile)
		if err != nil {
			return externalscaler.Scalers{}, nil, fmt.Errorf("--scalers-ca-file: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(bundle) {
			return externalscaler.Scalers{}, nil, fmt.Errorf("--scalers-ca-file: %s has no certificate in PEM", c.ScalersCAFile)
		}
		scalers.CABundle = string(bundle)
	}
	return scalers, append(slices.Clone(c.Servers), server), nil
}

// credential reads Secrets if it may.
func (c *Config) credential(client kubernetes.Interface) (clientauth.Lookup, error) {
	reader, err := secrets.New(client.CoreV1(), c.ReadsSecrets)
	if err != nil {
		return nil, err
	}
	return func(
		ctx context.Context, namespace string, key observesources.SecretKey, to clientauth.Peer,
	) ([]byte, error) {
		return reader.Value(ctx, namespace, secrets.Selector(key), secrets.Peer(to))
	}, nil
}
