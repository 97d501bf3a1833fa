// Package kubelettest writes the page of a kubelet's /metrics/resource, for tests and benchmarks: with the same
// families, help texts, order and number formats.
package kubelettest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Container is one container of a pod.
type Container struct {
	Name  string
	Start time.Time
	// CPUNanos is cumulative.
	CPUNanos    int64
	MemoryBytes int64
	// At is the time of its statistics; zero for that of the others.
	At time.Time
}

// Pod is one pod.
type Pod struct {
	Namespace, Name string
	Containers      []Container
}

// Node is the state of one kubelet.
type Node struct {
	Pods []Pod
	// Failed makes the kubelet report that it could not gather its statistics.
	Failed bool
}

// Filled is a node with so many pods of so many containers, named as Deployments
// name theirs.
func Filled(pods, containers int, start time.Time) *Node {
	n := &Node{Pods: make([]Pod, pods)}
	for i := range n.Pods {
		pod := &n.Pods[i]
		pod.Namespace = fmt.Sprintf("team-%02d-production", i%20)
		pod.Name = fmt.Sprintf("checkout-service-%03d-%08x-%05x", i, uint32(i+1)*2654435761, (i*7919)&0xfffff)
		for j := range containers {
			pod.Containers = append(pod.Containers, Container{
				Name:        [...]string{"app", "istio-proxy", "log-shipper", "metrics"}[j%4],
				Start:       start.Add(time.Duration(i*1000+j) * 7919 * time.Microsecond),
				CPUNanos:    int64(i+1)*1_234_567_891 + int64(j)*97_001,
				MemoryBytes: int64(i+j+1) * 1_298_432,
			})
		}
	}
	return n
}

// Burn adds CPU time to each container.
func (n *Node) Burn(nanos int64) {
	for i := range n.Pods {
		for j := range n.Pods[i].Containers {
			n.Pods[i].Containers[j].CPUNanos += nanos
		}
	}
}

// Text is the page with statistics of a time.
func (n *Node) Text(at time.Time) []byte {
	w := writer{millis: at.UnixMilli()}
	if !n.Failed {
		n.write(&w)
	}
	failed := 0.0
	if n.Failed {
		failed = 1
	}
	w.family("resource_scrape_error", "gauge",
		"[STABLE] 1 if there was an error while getting container metrics, 0 otherwise")
	w.sample("resource_scrape_error", "", failed)
	w.family("scrape_error", "gauge",
		"[ALPHA] (Deprecated since 1.29.0) 1 if there was an error while getting container metrics, 0 otherwise")
	w.sample("scrape_error", "", failed)
	return w.text
}

// write writes the families that have a time, in the order of their names and within them of their labels, as the
// kubelet's registry sorts them.
func (n *Node) write(w *writer) {
	containers, cpu, memory := n.sorted()
	cores := func(c Container) float64 { return float64(c.CPUNanos) / 1e9 }
	bytes := func(c Container) float64 { return float64(c.MemoryBytes) }
	nothing := func(Container) float64 { return 0 }

	w.family("container_cpu_usage_seconds_total", "counter",
		"[STABLE] Cumulative cpu time consumed by the container in core-seconds")
	w.containers("container_cpu_usage_seconds_total", containers, cores)
	w.family("container_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the container in bytes")
	w.containers("container_memory_working_set_bytes", containers, bytes)
	w.family("container_start_time_seconds", "gauge", "[STABLE] Start time of the container since unix epoch in seconds")
	for _, c := range containers {
		if !c.Start.IsZero() {
			w.sample("container_start_time_seconds", c.labels, float64(c.Start.UnixNano())/1e9)
		}
	}
	w.family("container_swap_limit_bytes", "gauge",
		"[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems")
	w.containers("container_swap_limit_bytes", containers, nothing)
	w.family("container_swap_usage_bytes", "gauge",
		"[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems")
	w.containers("container_swap_usage_bytes", containers, nothing)

	w.family("node_cpu_usage_seconds_total", "counter",
		"[STABLE] Cumulative cpu time consumed by the node in core-seconds")
	w.timed("node_cpu_usage_seconds_total", "", float64(cpu)/1e9)
	w.family("node_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the node in bytes")
	w.timed("node_memory_working_set_bytes", "", float64(memory))

	pods := n.pods()
	w.family("pod_cpu_usage_seconds_total", "counter", "[STABLE] Cumulative cpu time consumed by the pod in core-seconds")
	w.containers("pod_cpu_usage_seconds_total", pods, cores)
	w.family("pod_memory_working_set_bytes", "gauge", "[STABLE] Current working set of the pod in bytes")
	w.containers("pod_memory_working_set_bytes", pods, bytes)
	w.family("pod_swap_usage_bytes", "gauge",
		"[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems")
	w.containers("pod_swap_usage_bytes", pods, nothing)
}

// labelled is a container, or the sum of a pod's.
type labelled struct {
	Container
	labels string
}

func (n *Node) sorted() (containers []labelled, cpuNanos, memoryBytes int64) {
	for i := range n.Pods {
		pod := &n.Pods[i]
		for _, c := range pod.Containers {
			labels := fmt.Sprintf(`container=%q,namespace=%q,pod=%q`, c.Name, pod.Namespace, pod.Name)
			containers = append(containers, labelled{c, labels})
			cpuNanos += c.CPUNanos
			memoryBytes += c.MemoryBytes
		}
	}
	sortLabelled(containers)
	return containers, cpuNanos, memoryBytes
}

func (n *Node) pods() []labelled {
	pods := make([]labelled, len(n.Pods))
	for i := range n.Pods {
		pod := &n.Pods[i]
		pods[i].labels = fmt.Sprintf(`namespace=%q,pod=%q`, pod.Namespace, pod.Name)
		for _, c := range pod.Containers {
			pods[i].CPUNanos += c.CPUNanos
			pods[i].MemoryBytes += c.MemoryBytes
		}
	}
	sortLabelled(pods)
	return pods
}

func sortLabelled(all []labelled) {
	slices.SortFunc(all, func(a, b labelled) int { return cmp.Compare(a.labels, b.labels) })
}

type writer struct {
	text   []byte
	millis int64
}

func (w *writer) family(name, kind, help string) {
	w.text = fmt.Appendf(w.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (w *writer) containers(name string, all []labelled, value func(Container) float64) {
	for _, c := range all {
		millis := w.millis
		if !c.At.IsZero() {
			millis = c.At.UnixMilli()
		}
		w.timedAt(millis, name, c.labels, value(c.Container))
	}
}

func (w *writer) timed(name, labels string, value float64) { w.timedAt(w.millis, name, labels, value) }

func (w *writer) timedAt(millis int64, name, labels string, value float64) {
	w.start(name, labels, value)
	w.text = append(w.text, ' ')
	w.text = strconv.AppendInt(w.text, millis, 10)
	w.text = append(w.text, '\n')
}

func (w *writer) sample(name, labels string, value float64) {
	w.start(name, labels, value)
	w.text = append(w.text, '\n')
}

func (w *writer) start(name, labels string, value float64) {
	w.text = append(w.text, name...)
	if labels != "" {
		w.text = append(w.text, '{')
		w.text = append(w.text, labels...)
		w.text = append(w.text, '}')
	}
	w.text = append(w.text, ' ')
	w.text = strconv.AppendFloat(w.text, value, 'g', -1, 64)
}
