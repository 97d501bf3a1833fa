package vertical

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
)

// historyFlags are upstream's about a Prometheus that knows the past: used with
// --storage=prometheus. Names and defaults are upstream's, but for those of cAdvisor's
// labels, which have had other names for years.
type historyFlags struct {
	storage            string
	config             prometheushistory.Config
	length, resolution string
	timeout            string
	// client is made of them; nil without --storage=prometheus.
	client *prometheushistory.Client
}

func (f *historyFlags) add(fs *pflag.FlagSet) {
	f.config = prometheushistory.DefaultConfig()
	c := &f.config
	fs.StringVar(&f.storage, "storage", "checkpoint",
		"Where history comes from at the start: checkpoint, or prometheus. With prometheus no checkpoints are "+
			"read or written.")
	fs.StringVar(&c.Address, "prometheus-address", c.Address, "Where to reach Prometheus.")
	fs.BoolVar(&c.Insecure, "prometheus-insecure", false, "Believe whoever answers at the address of Prometheus.")
	fs.StringVar(&f.timeout, "prometheus-query-timeout", "5m", "How long Prometheus may take to answer a query.")
	fs.StringVar(&c.Username, "username", "", "The user name for Prometheus.")
	fs.StringVar(&c.Password, "password", "",
		"The password for Prometheus; better in the environment as PROMETHEUS_PASSWORD, where no list of "+
			"processes shows it.")
	fs.StringVar(&c.BearerToken, "prometheus-bearer-token", "", "The bearer token for Prometheus; better in a file.")
	fs.StringVar(&c.BearerTokenFile, "prometheus-bearer-token-file", "", "A file with the bearer token for Prometheus.")
	fs.StringVar(&f.length, "history-length", "8d", "How far back Prometheus is asked.")
	fs.StringVar(&f.resolution, "history-resolution", "1h",
		"How far apart the samples lie that Prometheus is asked for.")
	fs.StringVar(&c.CPUMetric, "history-cpu-metric", c.CPUMetric, "The metric of CPU use in Prometheus.")
	fs.StringVar(&c.MemoryMetric, "history-memory-metric", c.MemoryMetric, "The metric of memory use in Prometheus.")
	fs.StringVar(&c.Job, "prometheus-cadvisor-job-name", c.Job,
		"The job by which Prometheus scrapes cAdvisor; empty for any.")
	fs.StringVar(&c.PodLabels, "metric-for-pod-labels", c.PodLabels, "The metric whose labels are those of pods.")
	fs.StringVar(&c.PodLabelPrefix, "pod-label-prefix", c.PodLabelPrefix,
		"What stands before the names of pods' labels there.")
	fs.StringVar(&c.PodNamespaceLabel, "pod-namespace-label", c.PodNamespaceLabel,
		"The label with the namespace there.")
	fs.StringVar(&c.PodNameLabel, "pod-name-label", c.PodNameLabel, "The label with the pod's name there.")
	fs.StringVar(&c.NamespaceLabel, "container-namespace-label", c.NamespaceLabel,
		"The label with the namespace in cAdvisor's metrics.")
	fs.StringVar(&c.PodLabel, "container-pod-name-label", c.PodLabel,
		"The label with the pod's name in cAdvisor's metrics.")
	fs.StringVar(&c.ContainerLabel, "container-name-label", c.ContainerLabel,
		"The label with the container's name in cAdvisor's metrics.")
}

// validate makes the client, if one is asked for.
func (f *historyFlags) validate(check flags.Check) {
	check(slices.Contains([]string{"", "checkpoint", "prometheus"}, f.storage), "storage", f.storage,
		"must be checkpoint or prometheus")
	if f.storage != "prometheus" {
		return
	}
	var err error
	f.config.Length, err = prometheushistory.ParseDuration(f.length)
	check(err == nil, "history-length", f.length, fmt.Sprint(err))
	f.config.Resolution, err = prometheushistory.ParseDuration(f.resolution)
	check(err == nil, "history-resolution", f.resolution, fmt.Sprint(err))
	f.config.QueryTimeout, err = prometheushistory.ParseDuration(f.timeout)
	check(err == nil, "prometheus-query-timeout", f.timeout, fmt.Sprint(err))
	f.client, err = prometheushistory.New(f.config)
	check(err == nil, "storage", f.storage, fmt.Sprint(err))
}
