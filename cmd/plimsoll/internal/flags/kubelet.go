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
		"Where CPU and memory come from: kubelet, each second from the kubelets of the nodes that run pods of autoscaled "+
			"targets; api, from "+
			"metrics.k8s.io; auto, from the kubelets where Plimsoll may list and watch nodes, and --kubelet-service-account "+
			"get nodes/metrics. "+
			"metrics.k8s.io stands in for kubelets that cannot be read.")
	AddValues(fs, "resource-metrics-source", Values{All: sourceNames()})
	fs.DurationVar(&c.Interval, "kubelet-scrape-interval", scrape.DefaultPeriod, "How often each kubelet is asked.")
	fs.Float64Var(&c.MaxPerSecond, "kubelet-max-scrapes-per-second", scrape.DefaultMaxPerSecond,
		"How many kubelets are asked in a second at most. Beyond it each is asked less often, those of targets "+
			"near a change first.")
	fs.Float64Var(&c.MaxCPU, "kubelet-max-cpu", scrape.DefaultMaxCPU,
		"How much of its own CPU Plimsoll spends at most on reading and parsing the answers of kubelets, in cores. Beyond "+
			"it each is asked "+
			"less often, those of targets near a change first.")
	fs.IntVar(&c.MaxConcurrent, "kubelet-max-concurrent-scrapes", scrape.DefaultMaxConcurrent,
		"How many kubelets are asked at a time at most. Beside them three times as many may be under way that "+
			"have taken longer than 250 ms.")
	fs.StringSliceVar(&o.PreferredAddressTypes, "kubelet-preferred-address-types", o.PreferredAddressTypes,
		"The priority of node address types to use when determining which address to use to connect to a "+
			"particular node.")
	fs.BoolVar(&o.UseNodeStatusPort, "kubelet-use-node-status-port", o.UseNodeStatusPort,
		"Use the port in the node status. Takes precedence over --kubelet-port.")
	fs.IntVar(&o.Port, "kubelet-port", o.Port, "The port to use to connect to kubelets.")
	fs.BoolVar(&o.InsecureTLS, "kubelet-insecure-tls", false,
		"Do not verify the certificates of kubelets. Whoever answers is believed, and is sent the token.")
	fs.StringVar(&o.CertificateAuthority, "kubelet-certificate-authority", "",
		"Path to the CA that the certificates of kubelets are verified with, read anew as it changes. Without "+
			"it, the API server's.")
	fs.StringVar(&c.Account, "kubelet-service-account", kubelets.DefaultAccount,
		"The service account, as NAMESPACE/NAME, whose token kubelets are sent; the API server issues it for an hour at a "+
			"time. It should have "+
			"no right but to get nodes/metrics: whoever has a node has the token. Empty for none.")
	fs.StringVar(&o.TokenFile, "kubelet-token-file", "",
		"Path to a token for kubelets, read anew as it changes, instead of one of --kubelet-service-account.")
	fs.StringVar(&o.ClientCertificate, "kubelet-client-certificate", "",
		"Path to a client certificate for kubelets, instead of any token.")
	fs.StringVar(&o.ClientKey, "kubelet-client-key", "", "Path to the key of the client certificate for kubelets.")
	fs.StringVar(&c.Agents.Namespace, "node-agent-namespace", "",
		"The namespace of the agents of nodes, plimsoll-node-agent with config/node-agent. They are asked four times a "+
			"second, once for VerticalPodAutoscalers, before kubelets, which stand in where there is no agent or it does not "+
			"answer. Empty for none.")
	fs.IntVar(&c.Agents.Port, "node-agent-port", 8443, "The port of the agents of nodes.")
	fs.StringVar(&c.Agents.Authority, "node-agent-authority", kubelets.DefaultAuthority,
		"The Secret, as NAMESPACE/NAME, that keeps the authority of the certificates of agents and of the one that they are "+
			"shown.")
	fs.DurationVar(&o.RequestTimeout, "kubelet-request-timeout", o.RequestTimeout,
		"How long a kubelet may take to answer.")
	fs.BoolVar(&o.DisableCompression, "kubelet-disable-compression", false,
		"Ask kubelets for uncompressed answers: less CPU on both sides, ten times the traffic.")
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
