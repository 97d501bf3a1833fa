package world

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// The usage of every container at its first measurement: the exec of its process and that process's stack and heap.
// metrics-server leaves out pods with a container whose counter or memory is 0.
const (
	execCPUNanoSeconds   = 1_000_000
	leastContainerMemory = 1 << 20
)

// Summary returns a kubelet's report of a node and its running pods.
func (w *World) Summary(nodeName string) (*stats.Summary, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	n := w.nodes[nodeName]
	if n == nil || n.startedAt.IsZero() {
		return nil, fmt.Errorf("node %s is not known", nodeName)
	}
	at := metav1.NewTime(w.at)
	used := n.sim.Stats()
	summary := &stats.Summary{
		Node: stats.NodeStats{
			NodeName: nodeName, StartTime: metav1.NewTime(n.startedAt),
			CPU:    cpuStats(at, nanoSeconds(used.CPUSeconds), used.CPUMilli),
			Memory: memoryStats(at, uint64(used.MemoryBytes), 0),
			Swap:   noSwap(at),
		},
		Pods: make([]stats.PodStats, 0, len(n.pods)),
	}
	for p := range n.pods {
		if w.at.After(p.seenAt) {
			summary.Pods = append(summary.Pods, podStats(at, p))
		}
	}
	slices.SortFunc(summary.Pods, func(a, b stats.PodStats) int {
		return cmp.Or(cmp.Compare(a.PodRef.Namespace, b.PodRef.Namespace), cmp.Compare(a.PodRef.Name, b.PodRef.Name))
	})
	return summary, nil
}

// podStats shares what the pod used out over its containers; the pod's own numbers are their sums.
func podStats(at metav1.Time, p *pod) stats.PodStats {
	used := p.sim.Stats()
	report := stats.PodStats{
		PodRef:     stats.PodReference{Namespace: p.object.Namespace, Name: p.object.Name, UID: string(p.object.UID)},
		StartTime:  metav1.NewTime(startOf(p.object, "")),
		Containers: make([]stats.ContainerStats, 0, len(p.containers)),
		Swap:       noSwap(at),
	}
	limits := memoryLimits(p.object)
	var cpuNanoSeconds, memoryBytes, memoryLimit uint64
	bounded := true
	for _, c := range p.containers {
		nano := nanoSeconds(used.CPUSeconds*c.share) + execCPUNanoSeconds
		bytes := max(uint64(used.MemoryBytes*c.share), leastContainerMemory)
		limit := limits[c.name]
		report.Containers = append(report.Containers, stats.ContainerStats{
			Name: c.name, StartTime: metav1.NewTime(startOf(p.object, c.name)),
			CPU:    cpuStats(at, nano, used.CPUMilli*c.share),
			Memory: memoryStats(at, bytes, limit),
			Swap:   noSwap(at),
		})
		cpuNanoSeconds += nano
		memoryBytes += bytes
		memoryLimit += limit
		bounded = bounded && limit > 0
	}
	if !bounded {
		memoryLimit = 0
	}
	report.CPU = cpuStats(at, cpuNanoSeconds, used.CPUMilli)
	report.Memory = memoryStats(at, memoryBytes, memoryLimit)
	return report
}

func memoryLimits(object *corev1.Pod) map[string]uint64 {
	limits := map[string]uint64{}
	running := runningContainers(object)
	for i := range running {
		if limit, found := running[i].Resources.Limits[corev1.ResourceMemory]; found && limit.Value() > 0 {
			limits[running[i].Name] = uint64(limit.Value())
		}
	}
	return limits
}

func nanoSeconds(seconds float64) uint64 { return uint64(seconds * float64(time.Second)) }

func cpuStats(at metav1.Time, nano uint64, milli float64) *stats.CPUStats {
	rate := uint64(milli * 1e6)
	return &stats.CPUStats{Time: at, UsageCoreNanoSeconds: &nano, UsageNanoCores: &rate}
}

// memoryStats has available memory only under a limit, as the kubelet does.
func memoryStats(at metav1.Time, bytes, limit uint64) *stats.MemoryStats {
	m := &stats.MemoryStats{Time: at, UsageBytes: &bytes, WorkingSetBytes: &bytes, RSSBytes: &bytes}
	if limit > 0 {
		available := limit - min(limit, bytes)
		m.AvailableBytes = &available
	}
	return m
}

func noSwap(at metav1.Time) *stats.SwapStats {
	return &stats.SwapStats{Time: at, SwapUsageBytes: new(uint64), SwapAvailableBytes: new(uint64)}
}
