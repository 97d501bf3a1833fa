package prometheushistory

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
)

// Config configures a Client. Each field has upstream's flag in its comment.
type Config struct {
	// Address: --prometheus-address.
	Address string
	// Insecure is --prometheus-insecure: TLS is not verified.
	Insecure bool
	// QueryTimeout: --prometheus-query-timeout.
	QueryTimeout time.Duration
	// Username and Password: --username, --password. BearerToken and BearerTokenFile: --prometheus-bearer-token,
	// --prometheus-bearer-token-file; the file is read again as it changes. At most one of the three ways.
	Username, Password, BearerToken, BearerTokenFile string
	// Length and Resolution: --history-length, --history-resolution.
	Length, Resolution time.Duration
	// CPUMetric and MemoryMetric: --history-cpu-metric, --history-memory-metric.
	CPUMetric, MemoryMetric string
	// Job: --prometheus-cadvisor-job-name; empty for any.
	Job string
	// PodLabels: --metric-for-pod-labels, and PodLabelPrefix: --pod-label-prefix.
	PodLabels, PodLabelPrefix string
	// PodNamespaceLabel and PodNameLabel of that metric: --pod-namespace-label,
	// --pod-name-label.
	PodNamespaceLabel, PodNameLabel string
	// NamespaceLabel, PodLabel and ContainerLabel of the others:
	// --container-namespace-label, --container-pod-name-label, --container-name-label.
	NamespaceLabel, PodLabel, ContainerLabel string
	// RateWindow is the window of the average CPU use for loads: at least twice the interval at which cAdvisor is scraped.
	RateWindow time.Duration
	// RequestMetric and PhaseMetric are kube-state-metrics', for loads.
	// StateNamespaceLabel, StatePodLabel and StateContainerLabel are their labels.
	RequestMetric, PhaseMetric                              string
	StateNamespaceLabel, StatePodLabel, StateContainerLabel string
}

// The bounds of RateWindow. An average over more than a quarter of an hour hides every jump.
const minRateWindow, maxRateWindow = 10 * time.Second, 15 * time.Minute

// DefaultConfig has upstream's defaults, except for the names of cAdvisor's labels, which are today's.
func DefaultConfig() Config {
	return Config{
		Address: "http://prometheus.monitoring.svc", QueryTimeout: 5 * time.Minute,
		Length: 8 * 24 * time.Hour, Resolution: time.Hour,
		CPUMetric: "container_cpu_usage_seconds_total", MemoryMetric: "container_memory_working_set_bytes",
		Job: "kubernetes-cadvisor", PodLabels: `up{job="kubernetes-pods"}`, PodLabelPrefix: "pod_label_",
		PodNamespaceLabel: "kubernetes_namespace", PodNameLabel: "kubernetes_pod_name",
		NamespaceLabel: "namespace", PodLabel: "pod", ContainerLabel: "container",
		RateWindow: 2 * time.Minute, RequestMetric: "kube_pod_container_resource_requests",
		PhaseMetric: "kube_pod_status_phase", StateNamespaceLabel: "namespace", StatePodLabel: "pod",
		StateContainerLabel: "container",
	}
}

// ParseDuration reads a duration as Prometheus writes it: 8d, 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	return time.Duration(d), err
}

// Validate returns an error for options that cannot work.
func (c *Config) Validate() error {
	var found []error
	check := func(fine bool, format string, args ...any) {
		if !fine {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	check(c.QueryTimeout > 0, "--prometheus-query-timeout=%s is not positive", c.QueryTimeout)
	check(c.RateWindow >= minRateWindow && c.RateWindow <= maxRateWindow,
		"--history-rate-window=%s is not within %s and %s", c.RateWindow, minRateWindow, maxRateWindow)
	check(c.Length > 0, "--history-length=%s is not positive", c.Length)
	check(c.Resolution > 0 && c.Resolution <= c.Length,
		"--history-resolution=%s is not above 0 and within --history-length=%s", c.Resolution, c.Length)
	// Prometheus refuses more than 11,000 points of a series.
	const points = 11_000
	check(c.Resolution <= 0 || c.Length/c.Resolution < points,
		"--history-resolution=%s is too fine for --history-length=%s: Prometheus answers with %d points at most",
		c.Resolution, c.Length, points)
	ways := 0
	for _, way := range []string{c.Username, c.BearerToken, c.BearerTokenFile} {
		if way != "" {
			ways++
		}
	}
	check(ways <= 1, "--username, --prometheus-bearer-token and --prometheus-bearer-token-file exclude each other")
	check(c.Password == "" || c.Username != "", "--password goes with --username")
	for flag, name := range map[string]string{
		"pod-namespace-label": c.PodNamespaceLabel, "pod-name-label": c.PodNameLabel,
		"container-namespace-label": c.NamespaceLabel,
		"container-pod-name-label":  c.PodLabel, "container-name-label": c.ContainerLabel,
		"history-state-namespace-label": c.StateNamespaceLabel, "history-state-pod-label": c.StatePodLabel,
		"history-state-container-label": c.StateContainerLabel,
	} {
		check(model.LegacyValidation.IsValidLabelName(name), "--%s=%q is no name of a label", flag, name)
	}
	for flag, name := range map[string]string{
		"history-cpu-metric": c.CPUMetric, "history-memory-metric": c.MemoryMetric,
		"history-request-metric": c.RequestMetric, "history-phase-metric": c.PhaseMetric,
	} {
		check(model.LegacyValidation.IsValidMetricName(name), "--%s=%q is no name of a metric", flag, name)
	}
	check(strings.ContainsAny(c.Address, ":"), "--prometheus-address=%q is no URL", c.Address)
	return errors.Join(found...)
}

// transport authenticates as configured.
func (c *Config) transport() (http.RoundTripper, error) {
	client := config.DefaultHTTPClientConfig
	client.TLSConfig.InsecureSkipVerify = c.Insecure
	switch {
	case c.Username != "":
		client.BasicAuth = &config.BasicAuth{Username: c.Username, Password: config.Secret(c.password())}
	case c.BearerToken != "":
		client.Authorization = &config.Authorization{Type: "Bearer", Credentials: config.Secret(c.BearerToken)}
	case c.BearerTokenFile != "":
		client.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: c.BearerTokenFile}
	}
	return config.NewRoundTripperFromConfig(client, "plimsoll")
}

// password returns the flag's, or the environment's, which no list of processes shows.
func (c *Config) password() string {
	if c.Password == "" {
		return os.Getenv("PROMETHEUS_PASSWORD")
	}
	return c.Password
}
