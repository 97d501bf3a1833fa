package flags

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/collect/metricsapi"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/reach"
	"github.com/plimsoll-dev/plimsoll/internal/process/sources"
)

// AddSources adds the flags about the metrics APIs, and about the metrics that Plimsoll reads itself.
func AddSources(fs *pflag.FlagSet, c *sources.Config) {
	fs.DurationVar(&c.MetricsTimeout, "metrics-api-timeout", metricsapi.DefaultTimeout,
		"The timeout of a request to a metrics API. It does not delay objects that do not use this API.")
	fs.IntVar(&c.MetricsRequests, "concurrent-metrics-api-requests", metricsapi.DefaultSlots,
		"The number of requests to one metrics API (resource, custom, external) that are allowed concurrently. The others "+
			"wait for their turn, by namespace and object.")
	fs.DurationVar(&c.PodInterval, "pod-endpoint-interval", podendpoint.DefaultInterval,
		"How often each pod that is a source of a PodEndpoint metric is scraped.")
	fs.Float64Var(&c.PodMaxPerSecond, "pod-endpoint-max-scrapes-per-second", podendpoint.DefaultMaxPerSecond,
		"The maximum number of scrapes per second for PodEndpoint metrics. With more pods a sample of them is scraped.")
	fs.Float64Var(&c.PodMaxCPU, "pod-endpoint-max-cpu", podendpoint.DefaultMaxCPU,
		"The maximum CPU for scraping pods for PodEndpoint metrics, in cores. With more pods a sample of them is scraped.")
	fs.IntVar(&c.PodMaxConcurrent, "pod-endpoint-max-concurrent", podendpoint.DefaultMaxConcurrent,
		"The maximum number of concurrent scrapes for PodEndpoint metrics.")
	fs.Var(&list[netip.Prefix]{values: &c.PodCIDRs, parse: parseCIDR, kind: "CIDR"}, "pod-endpoint-allowed-cidr",
		"Scrape PodEndpoint metrics from pods with addresses in this range even if these are loopback, link-local or node "+
			"addresses, or the pods use the host network. Can be repeated.")
	fs.Var(&list[reach.Server]{values: &c.Servers, parse: reach.ParseServer, kind: "HOST:PORT[=NAMESPACE,...]"},
		"metric-server",
		"A server that WorkloadAutoscalers may use for Prometheus and ExternalScaler metrics, besides Services of their "+
			"own namespaces. With namespaces, only objects there may use it. Any address is allowed. Can be repeated.")
	fs.StringVar(&c.ScalersAddress, "scalers-address", "",
		"The HOST:PORT of plimsoll-scalers, which reads the metrics of type Scaler with KEDA's scalers. Without it there "+
			"are no metrics of this type. Metrics of other types may use this server too.")
	fs.StringVar(&c.ScalersCAFile, "scalers-ca-file", "",
		"The certificate authorities of plimsoll-scalers, in PEM. Without it the connection is not encrypted.")
	fs.StringVar(&c.ClusterDomain, "cluster-domain", reach.DefaultClusterDomain,
		"The DNS domain of the cluster's Services, as the kubelets' clusterDomain. A name of --metric-server that ends in "+
			".svc is only resolved in it.")
	fs.BoolVar(&c.ReadsSecrets, "metric-secrets", false,
		"Read credentials for metrics from Secrets in the WorkloadAutoscaler's namespace whose annotation "+
			"plimsoll.dev/metric-hosts names the server. The controller needs permission to get Secrets.")
}

// ValidateSources checks them.
func ValidateSources(c *sources.Config, check Check) {
	check(c.MetricsTimeout > 0, "metrics-api-timeout", c.MetricsTimeout, "must be greater than 0")
	check(c.MetricsRequests >= 1, "concurrent-metrics-api-requests", c.MetricsRequests, "must be greater than 0")
	check(c.PodInterval > 0, "pod-endpoint-interval", c.PodInterval, "must be greater than 0")
	check(c.PodMaxPerSecond > 0 && !math.IsInf(c.PodMaxPerSecond, 1), "pod-endpoint-max-scrapes-per-second",
		c.PodMaxPerSecond, "must be greater than 0")
	check(c.PodMaxCPU > 0 && !math.IsInf(c.PodMaxCPU, 1), "pod-endpoint-max-cpu", c.PodMaxCPU,
		"must be a number of cores greater than 0")
	if c.ScalersAddress != "" {
		server, err := reach.ParseServer(c.ScalersAddress)
		check(err == nil && len(server.Namespaces) == 0, "scalers-address", c.ScalersAddress, "must be HOST:PORT")
	}
	check(c.ScalersCAFile == "" || c.ScalersAddress != "", "scalers-ca-file", c.ScalersCAFile,
		"may be set only beside --scalers-address")
	check(reach.IsDomain(c.ClusterDomain), "cluster-domain", c.ClusterDomain,
		"must be a domain, such as cluster.local")
	check(c.PodMaxConcurrent > 0, "pod-endpoint-max-concurrent", c.PodMaxConcurrent, "must be greater than 0")
}

func parseCIDR(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("%q is not ADDRESS/BITS", text)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, errors.New("ranges of IPv4 addresses are written as such")
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("%s has bits set after its prefix; did you mean %s?", text, prefix.Masked())
	default:
		return prefix, nil
	}
}

// list is a flag that can be repeated.
type list[T fmt.Stringer] struct {
	values *[]T
	parse  func(string) (T, error)
	kind   string
}

// Set implements pflag.Value.
func (l *list[T]) Set(text string) error {
	value, err := l.parse(text)
	if err != nil {
		return err
	}
	*l.values = append(*l.values, value)
	return nil
}

// Type implements pflag.Value.
func (l *list[T]) Type() string { return l.kind }

// String implements pflag.Value.
func (l *list[T]) String() string {
	if l.values == nil {
		return ""
	}
	var texts []string
	for _, value := range *l.values {
		texts = append(texts, value.String())
	}
	return strings.Join(texts, " ")
}
