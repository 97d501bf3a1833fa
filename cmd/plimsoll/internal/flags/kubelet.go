package flags

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/process/kubelets"
)

// AddKubelets adds the flags about reading kubelets.
func AddKubelets(fs *pflag.FlagSet, c *kubelets.Config) {
	c.Options = kubelet.DefaultOptions()
	o := &c.Options
	fs.StringVar((*string)(&c.Source), "resource-metrics-source", string(kubelets.Auto),
		"The source of CPU and memory: kubelet scrapes the kubelets of nodes with autoscaled pods every second; api reads "+
			"metrics.k8s.io; auto scrapes kubelets if Plimsoll may list and watch nodes and --kubelet-service-account may get "+
			"nodes/metrics. metrics.k8s.io replaces kubelets that cannot be read.")
	AddValues(fs, "resource-metrics-source", Values{All: sourceNames()})
	fs.DurationVar(&c.Interval, "kubelet-scrape-interval", scrape.DefaultPeriod, "How often each kubelet is scraped.")
	fs.Float64Var(&c.MaxPerSecond, "kubelet-max-scrapes-per-second", scrape.DefaultMaxPerSecond,
		"The maximum number of kubelet scrapes per second. With more nodes each is scraped less often; nodes of targets "+
			"near a change go first.")
	fs.Float64Var(&c.MaxCPU, "kubelet-max-cpu", scrape.DefaultMaxCPU,
		"The maximum CPU for reading and parsing responses of kubelets, in cores. With more nodes each is scraped less "+
			"often; nodes of targets near a change go first.")
	fs.IntVar(&c.MaxConcurrent, "kubelet-max-concurrent-scrapes", scrape.DefaultMaxConcurrent,
		"The maximum number of concurrent kubelet scrapes. Scrapes slower than 250 ms do not count; there may be three "+
			"times as many of these.")
	fs.StringSliceVar(&o.PreferredAddressTypes, "kubelet-preferred-address-types", o.PreferredAddressTypes,
		"The priority of node address types to use when determining which address to use to connect to a "+
			"particular node.")
	fs.BoolVar(&o.UseNodeStatusPort, "kubelet-use-node-status-port", o.UseNodeStatusPort,
		"Use the port in the node status. Takes precedence over --kubelet-port.")
	fs.IntVar(&o.Port, "kubelet-port", o.Port, "The port to use to connect to kubelets.")
	fs.BoolVar(&o.InsecureTLS, "kubelet-insecure-tls", false,
		"Do not verify the certificates of kubelets. Any server is trusted and receives the token.")
	fs.StringVar(&o.CertificateAuthority, "kubelet-certificate-authority", "",
		"Path to the CA of the kubelets' certificates, reloaded when it changes. Without it, the API server's CA.")
	fs.StringVar(&c.Account, "kubelet-service-account", kubelets.DefaultAccount,
		"The service account, as NAMESPACE/NAME, whose token authenticates to kubelets; the API server issues it for an "+
			"hour at a time. Grant it nothing but get on nodes/metrics: an attacker on a node can read the token. Empty for "+
			"none.")
	fs.StringVar(&o.TokenFile, "kubelet-token-file", "",
		"Path to a token for kubelets, reloaded when it changes, instead of one of --kubelet-service-account.")
	fs.StringVar(&o.ClientCertificate, "kubelet-client-certificate", "",
		"Path to a client certificate for kubelets, instead of any token.")
	fs.StringVar(&o.ClientKey, "kubelet-client-key", "", "Path to the key of the client certificate for kubelets.")
	fs.StringVar(&c.Agents.Namespace, "node-agent-namespace", "",
		"The namespace of node agents, plimsoll-node-agent with config/node-agent. Plimsoll scrapes them four times a "+
			"second, for VerticalPodAutoscalers once a second. A kubelet replaces an agent that does not respond. Empty for "+
			"no agents.")
	fs.IntVar(&c.Agents.Port, "node-agent-port", 8443, "The port of node agents.")
	fs.StringVar(&c.Agents.Authority, "node-agent-authority", kubelets.DefaultAuthority,
		"The Secret, as NAMESPACE/NAME, with the CA of node agents and of the controller's client certificate.")
	fs.DurationVar(&o.RequestTimeout, "kubelet-request-timeout", o.RequestTimeout,
		"How long a kubelet may take to answer.")
	fs.BoolVar(&o.DisableCompression, "kubelet-disable-compression", false,
		"Request uncompressed responses from kubelets: less CPU on both sides, ten times the traffic.")
}

// ValidateKubelets checks them.
func ValidateKubelets(c *kubelets.Config, check Check) {
	check(slices.Contains(kubelets.Sources, c.Source), "resource-metrics-source", c.Source,
		"must be "+strings.Join(sourceNames(), ", "))
	_, _, err := c.Reader()
	check(err == nil, "kubelet-service-account", c.Account, fmt.Sprint(err))
	err = c.Agents.Validate()
	check(err == nil, "node-agent-namespace", c.Agents.Namespace, fmt.Sprint(err))
	check(c.Interval > 0, "kubelet-scrape-interval", c.Interval, "must be greater than 0")
	check(c.MaxPerSecond > 0, "kubelet-max-scrapes-per-second", c.MaxPerSecond, "must be greater than 0")
	check(c.MaxCPU > 0 && !math.IsInf(c.MaxCPU, 1), "kubelet-max-cpu", c.MaxCPU,
		"must be a number of cores greater than 0")
	check(c.MaxConcurrent > 0, "kubelet-max-concurrent-scrapes", c.MaxConcurrent, "must be greater than 0")
}

// sourceNames are the values of --resource-metrics-source.
func sourceNames() []string {
	var names []string
	for _, source := range kubelets.Sources {
		names = append(names, string(source))
	}
	return names
}
