package reaction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/autoscaler"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction/images"
)

// Load is the kind of the workload.
type Load string

// The loads.
const (
	// Article is the article's: one container, which is ready as soon as it answers.
	Article Load = "article"
	// Sidecar has a second container in each pod, which is idle.
	Sidecar Load = "sidecar"
	// SlowReadiness has pods that are not ready before they have run for slowReadinessSeconds.
	SlowReadiness Load = "slow-readiness"
	// TwoContainers has a second container in each pod, which is idle and requests far more than the first can use. The
	// metric is that of the first alone.
	TwoContainers Load = "two-containers"
	// Memory has pods whose memory grows with their connections and falls when those are closed. The metric is memory.
	Memory Load = "memory"
)

// Loads are all of them.
var Loads = []Load{Article, Sidecar, SlowReadiness, TwoContainers, Memory}

// server is the container that is loaded.
const server = "nginx"

// slowReadinessSeconds is the time until a slow program is ready.
const slowReadinessSeconds = 10

// With two containers the first runs at its limit under load, which is 25 times the article's target of 4m. The whole
// pod then uses 69 % of what it requests, so that a metric of type Resource with that target would add no pod. All pods
// fit a node with two CPUs beside Plimsoll's.
const (
	hotRequestMilli  = 5
	hotLimitMilli    = 100
	hotPercent       = 80
	idleRequestMilli = 140
)

// Under load, a pod uses eight times its target of memory: 64 MiB for each of four connections.
const (
	memoryRequestMiB = 64
	memoryPercent    = 50
)

// Set implements pflag.Value.
func (l *Load) Set(text string) error {
	for _, load := range Loads {
		if Load(text) == load {
			*l = load
			return nil
		}
	}
	return fmt.Errorf("must be one of %v", Loads)
}

// String implements pflag.Value.
func (l *Load) String() string { return string(*l) }

// Type implements pflag.Value.
func (l *Load) Type() string { return "string" }

// apply makes the article's pods those of the load.
func (l Load) apply(pod *corev1.PodSpec) {
	loaded := &pod.Containers[0]
	idle := corev1.Container{Name: "sidecar", Image: images.Exporter, ImagePullPolicy: corev1.PullNever}
	switch l {
	case Sidecar:
		// It gets no requests.
		pod.Containers = append(pod.Containers, idle)
	case SlowReadiness:
		loaded.ReadinessProbe.InitialDelaySeconds = slowReadinessSeconds
	case TwoContainers:
		loaded.Resources.Limits = milliCPU(hotLimitMilli)
		loaded.Resources.Requests = milliCPU(hotRequestMilli)
		idle.Resources.Requests = milliCPU(idleRequestMilli)
		pod.Containers = append(pod.Containers, idle)
	case Memory:
		loaded.Image = images.MemoryServer
		loaded.ReadinessProbe.HTTPGet.Path = images.MemoryServerReady
		loaded.Resources.Requests = milliCPU(requestMilli)
		loaded.Resources.Requests[corev1.ResourceMemory] = *resource.NewQuantity(memoryRequestMiB<<20, resource.BinarySI)
	case Article:
	}
}

// HasMetric reports whether the load has a metric of its own, so that it cannot be scaled by requests instead.
func (l Load) HasMetric() bool { return l == TwoContainers || l == Memory }

// metric is the metric of a workload that is not scaled by requests.
func (l Load) metric() autoscaler.Resource {
	switch l {
	case TwoContainers:
		return autoscaler.Resource{Name: corev1.ResourceCPU, Container: server, Percent: hotPercent}
	case Memory:
		return autoscaler.Resource{Name: corev1.ResourceMemory, Percent: memoryPercent}
	default:
		return autoscaler.Resource{Name: corev1.ResourceCPU, Percent: targetPercent}
	}
}

// title names what is loaded.
func (l Load) title() string {
	switch l {
	case Article, "":
		return "nginx and ab"
	case Memory:
		return "a server that needs memory and ab"
	default:
		return "nginx and ab, load " + string(l) + ","
	}
}

func milliCPU(milli int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}
}
