package controller

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
	prometheus         flags.Prometheus
	length, resolution string
	// client is made of them; nil without --storage=prometheus.
	client *prometheushistory.Client
}

// AddHistory adds the flags about Prometheus: those of the recommender, and those that only past loads need.
func (f *recommenderFlags) AddHistory(fs *pflag.FlagSet) {
	f.history.add(fs)
	f.history.prometheus.AddLoad(fs)
}

func (f *historyFlags) add(fs *pflag.FlagSet) {
	c := &f.prometheus.Config
	*c = prometheushistory.DefaultConfig()
	fs.StringVar(&f.storage, "storage", "checkpoint",
		"The source of history at the start: checkpoint, or prometheus. With prometheus no checkpoints are read or written.")
	flags.AddValues(fs, "storage", flags.Values{All: []string{"checkpoint", "prometheus"}})
	f.prometheus.Add(fs)
	fs.StringVar(&f.length, "history-length", "8d", "How far back Prometheus is queried.")
	fs.StringVar(&f.resolution, "history-resolution", "1h",
		"The resolution of the samples that are queried from Prometheus.")
	fs.StringVar(&c.MemoryMetric, "history-memory-metric", c.MemoryMetric, "The metric of memory use in Prometheus.")
	fs.StringVar(&c.PodLabels, "metric-for-pod-labels", c.PodLabels, "The metric that has the labels of pods.")
	fs.StringVar(&c.PodLabelPrefix, "pod-label-prefix", c.PodLabelPrefix,
		"The prefix of the names of pod labels in that metric.")
	fs.StringVar(&c.PodNamespaceLabel, "pod-namespace-label", c.PodNamespaceLabel,
		"The label with the namespace in that metric.")
	fs.StringVar(&c.PodNameLabel, "pod-name-label", c.PodNameLabel, "The label with the pod's name in that metric.")
}

// LoadHistory makes a client of Prometheus for past loads, by the same flags as the recommender's.
func (f *recommenderFlags) LoadHistory(check flags.Check) *prometheushistory.Client {
	prometheus := f.history.prometheus
	prometheus.Parse(check)
	client, err := prometheushistory.New(prometheus.Config)
	check(err == nil, "prometheus-address", prometheus.Config.Address, fmt.Sprint(err))
	return client
}

// validate makes the client, if one is asked for.
func (f *historyFlags) validate(check flags.Check) {
	check(slices.Contains([]string{"", "checkpoint", "prometheus"}, f.storage), "storage", f.storage,
		"must be checkpoint or prometheus")
	if f.storage != "prometheus" {
		return
	}
	var err error
	f.prometheus.Config.Length, err = prometheushistory.ParseDuration(f.length)
	check(err == nil, "history-length", f.length, fmt.Sprint(err))
	f.prometheus.Config.Resolution, err = prometheushistory.ParseDuration(f.resolution)
	check(err == nil, "history-resolution", f.resolution, fmt.Sprint(err))
	f.prometheus.Parse(check)
	f.client, err = prometheushistory.New(f.prometheus.Config)
	check(err == nil, "storage", f.storage, fmt.Sprint(err))
}
