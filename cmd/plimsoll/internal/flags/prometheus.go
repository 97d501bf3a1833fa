package flags

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
)

// Prometheus are the flags about a Prometheus server that has the past. Names and defaults are those of upstream's
// recommender, but for those of cAdvisor's labels, which have had other names for years.
type Prometheus struct {
	// Config has the defaults before Add.
	Config  prometheushistory.Config
	timeout string
}

// Add adds the flags about the server and cAdvisor's metrics.
func (p *Prometheus) Add(fs *pflag.FlagSet) {
	c := &p.Config
	fs.StringVar(&c.Address, "prometheus-address", c.Address, "Where to reach Prometheus.")
	fs.BoolVar(&c.Insecure, "prometheus-insecure", false, "Skip TLS verification of Prometheus.")
	fs.StringVar(&p.timeout, "prometheus-query-timeout", "5m", "How long Prometheus may take to answer a query.")
	fs.StringVar(&c.Username, "username", "", "The user name for Prometheus.")
	fs.StringVar(&c.Password, "password", "",
		"The password for Prometheus; better in the environment as PROMETHEUS_PASSWORD, where no list of "+
			"processes shows it.")
	fs.StringVar(&c.BearerToken, "prometheus-bearer-token", "", "The bearer token for Prometheus; better in a file.")
	fs.StringVar(&c.BearerTokenFile, "prometheus-bearer-token-file", "", "A file with the bearer token for Prometheus.")
	fs.StringVar(&c.CPUMetric, "history-cpu-metric", c.CPUMetric, "The metric of CPU use in Prometheus.")
	fs.StringVar(&c.Job, "prometheus-cadvisor-job-name", c.Job,
		"The job label of cAdvisor's metrics; empty for any.")
	fs.StringVar(&c.NamespaceLabel, "container-namespace-label", c.NamespaceLabel,
		"The label with the namespace in cAdvisor's metrics.")
	fs.StringVar(&c.PodLabel, "container-pod-name-label", c.PodLabel,
		"The label with the pod's name in cAdvisor's metrics.")
	fs.StringVar(&c.ContainerLabel, "container-name-label", c.ContainerLabel,
		"The label with the container's name in cAdvisor's metrics.")
}

// AddLoad adds those about kube-state-metrics, which only loads need.
func (p *Prometheus) AddLoad(fs *pflag.FlagSet) {
	c := &p.Config
	fs.DurationVar(&c.RateWindow, "history-rate-window", c.RateWindow,
		"The window over which CPU usage is averaged: at least twice the scrape interval of cAdvisor.")
	fs.StringVar(&c.RequestMetric, "history-request-metric", c.RequestMetric,
		"kube-state-metrics' metric of requests in Prometheus. Without it, the present requests count.")
	fs.StringVar(&c.PhaseMetric, "history-phase-metric", c.PhaseMetric,
		"kube-state-metrics' metric of pods' phases in Prometheus.")
	fs.StringVar(&c.StateNamespaceLabel, "history-state-namespace-label", c.StateNamespaceLabel,
		"The label with the namespace in kube-state-metrics' metrics.")
	fs.StringVar(&c.StatePodLabel, "history-state-pod-label", c.StatePodLabel,
		"The label with the pod's name in kube-state-metrics' metrics.")
	fs.StringVar(&c.StateContainerLabel, "history-state-container-label", c.StateContainerLabel,
		"The label with the container's name in kube-state-metrics' metrics.")
}

// Parse completes the configuration.
func (p *Prometheus) Parse(check Check) {
	var err error
	p.Config.QueryTimeout, err = prometheushistory.ParseDuration(p.timeout)
	check(err == nil, "prometheus-query-timeout", p.timeout, fmt.Sprint(err))
}
