package kubelet

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

var (
	containerLabels = []string{"container", "pod", "namespace"}
	podLabels       = []string{"pod", "namespace"}

	nodeCPU = prometheus.NewDesc("node_cpu_usage_seconds_total",
		"[STABLE] Cumulative cpu time consumed by the node in core-seconds", nil, nil)
	nodeMemory = prometheus.NewDesc("node_memory_working_set_bytes",
		"[STABLE] Current working set of the node in bytes", nil, nil)
	nodeSwap = prometheus.NewDesc("node_swap_usage_bytes",
		"[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems", nil, nil)
	containerStart = prometheus.NewDesc("container_start_time_seconds",
		"[STABLE] Start time of the container since unix epoch in seconds", containerLabels, nil)
	containerCPU = prometheus.NewDesc("container_cpu_usage_seconds_total",
		"[STABLE] Cumulative cpu time consumed by the container in core-seconds", containerLabels, nil)
	containerMemory = prometheus.NewDesc("container_memory_working_set_bytes",
		"[STABLE] Current working set of the container in bytes", containerLabels, nil)
	containerSwap = prometheus.NewDesc("container_swap_usage_bytes",
		"[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems", containerLabels,
		nil)
	containerSwapLimit = prometheus.NewDesc("container_swap_limit_bytes",
		"[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems", containerLabels,
		nil)
	podCPU = prometheus.NewDesc("pod_cpu_usage_seconds_total",
		"[STABLE] Cumulative cpu time consumed by the pod in core-seconds", podLabels, nil)
	podMemory = prometheus.NewDesc("pod_memory_working_set_bytes",
		"[STABLE] Current working set of the pod in bytes", podLabels, nil)
	podSwap = prometheus.NewDesc("pod_swap_usage_bytes",
		"[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems", podLabels, nil)
	scrapeError = prometheus.NewDesc("resource_scrape_error",
		"[STABLE] 1 if there was an error while getting container metrics, 0 otherwise", nil, nil)
)

// resourceCollector makes the kubelet's resource metrics from a Summary. It is stateless: containers come and go, and
// only those of the present Summary are reported.
type resourceCollector struct {
	summary func() (*stats.Summary, error)
	// value may replace a container's usage by a lie.
	value func(pod stats.PodReference, honest float64) float64
}

var _ prometheus.Collector = resourceCollector{}

// Describe sends all descriptions.
func (c resourceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		nodeCPU, nodeMemory, nodeSwap, containerStart, containerCPU, containerMemory, containerSwap, containerSwapLimit,
		podCPU, podMemory, podSwap, scrapeError,
	} {
		ch <- desc
	}
}

// Collect sends the present values. Without a Summary only the error counts, as in the kubelet.
func (c resourceCollector) Collect(ch chan<- prometheus.Metric) {
	s, err := c.summary()
	if err != nil {
		ch <- prometheus.MustNewConstMetric(scrapeError, prometheus.GaugeValue, 1)
		return
	}
	out := sink{ch: ch, value: func(v float64) float64 { return v }}
	out.cpu(nodeCPU, s.Node.CPU)
	out.memory(nodeMemory, s.Node.Memory)
	out.swap(nodeSwap, s.Node.Swap)
	for i := range s.Pods {
		c.collectPod(ch, &s.Pods[i])
	}
	ch <- prometheus.MustNewConstMetric(scrapeError, prometheus.GaugeValue, 0)
}

func (c resourceCollector) collectPod(ch chan<- prometheus.Metric, pod *stats.PodStats) {
	out := sink{ch: ch, value: func(v float64) float64 { return c.value(pod.PodRef, v) }}
	for i := range pod.Containers {
		container := &pod.Containers[i]
		labels := []string{container.Name, pod.PodRef.Name, pod.PodRef.Namespace}
		if start := container.StartTime; start.Unix() > 0 {
			ch <- prometheus.MustNewConstMetric(containerStart, prometheus.GaugeValue,
				float64(start.UnixNano())/float64(time.Second), labels...)
		}
		out.cpu(containerCPU, container.CPU, labels...)
		out.memory(containerMemory, container.Memory, labels...)
		out.swap(containerSwap, container.Swap, labels...)
		out.swapLimit(containerSwapLimit, container.Swap, labels...)
	}
	out.cpu(podCPU, pod.CPU, pod.PodRef.Name, pod.PodRef.Namespace)
	out.memory(podMemory, pod.Memory, pod.PodRef.Name, pod.PodRef.Namespace)
	out.swap(podSwap, pod.Swap, pod.PodRef.Name, pod.PodRef.Namespace)
}

// sink sends a value with the time at which it was measured, if there is a value.
type sink struct {
	ch    chan<- prometheus.Metric
	value func(honest float64) float64
}

func (s sink) send(desc *prometheus.Desc, kind prometheus.ValueType, at time.Time, value float64, labels ...string) {
	s.ch <- prometheus.NewMetricWithTimestamp(at, prometheus.MustNewConstMetric(desc, kind, value, labels...))
}

func (s sink) cpu(desc *prometheus.Desc, cpu *stats.CPUStats, labels ...string) {
	if cpu != nil && cpu.UsageCoreNanoSeconds != nil {
		seconds := float64(*cpu.UsageCoreNanoSeconds) / float64(time.Second)
		s.send(desc, prometheus.CounterValue, cpu.Time.Time, s.value(seconds), labels...)
	}
}

func (s sink) memory(desc *prometheus.Desc, memory *stats.MemoryStats, labels ...string) {
	if memory != nil && memory.WorkingSetBytes != nil {
		s.send(desc, prometheus.GaugeValue, memory.Time.Time, s.value(float64(*memory.WorkingSetBytes)), labels...)
	}
}

func (s sink) swap(desc *prometheus.Desc, swap *stats.SwapStats, labels ...string) {
	if swap != nil && swap.SwapUsageBytes != nil {
		s.send(desc, prometheus.GaugeValue, swap.Time.Time, float64(*swap.SwapUsageBytes), labels...)
	}
}

// swapLimit is the sum of available and used swap.
func (s sink) swapLimit(desc *prometheus.Desc, swap *stats.SwapStats, labels ...string) {
	if swap == nil || swap.SwapAvailableBytes == nil {
		return
	}
	limit := float64(*swap.SwapAvailableBytes)
	if swap.SwapUsageBytes != nil {
		limit += float64(*swap.SwapUsageBytes)
	}
	s.send(desc, prometheus.GaugeValue, swap.Time.Time, limit, labels...)
}
