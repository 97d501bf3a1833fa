package simulate

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// servesAtFull is how many requests a second a pod serves at 100 % of its CPU request, servesAtMost with all the CPU
// that it gets.
func (w *Workload) servesAtFull() float64 {
	return w.CPURequestMilli / w.Profile.CPUPerRequestMilliCoreSeconds
}

func (w *Workload) servesAtMost() float64 {
	return w.ceilingMilli() / w.Profile.CPUPerRequestMilliCoreSeconds
}

// targetOf is the part of its CPU request that a pod uses at the target, by the metric that asks for the most pods.
func targetOf(p *horizontal.Policy, w *Workload) float64 {
	least := math.Inf(1)
	for i := range p.Metrics {
		if part, ok := w.partAtTarget(&p.Metrics[i]); ok {
			least = min(least, part)
		}
	}
	if math.IsInf(least, 1) {
		return defaultTarget
	}
	return least
}

// partAtTarget is the part of its CPU request that a pod uses for requests at the target of a metric. It is false where
// that depends on more than the requests of a pod: on what waits for all of them, or on how many pods there are.
func (w *Workload) partAtTarget(m *source.Spec) (part float64, ok bool) {
	perRequest := w.Profile.CPUPerRequestMilliCoreSeconds
	requests, isAbsolute := requestsAtTarget(m)
	switch {
	case !(w.CPURequestMilli > 0) || m.IsOwnTarget:
		return 0, false
	case m.IsCPU():
		part = w.cpuPart(m)
	case isMemory(m):
		part = w.memoryRequests(m) * perRequest / w.CPURequestMilli
	case isGauge(m):
		part = w.gaugePart(float64(m.Target.Milli) / 1000)
	case isAbsolute:
		part = requests * perRequest / w.CPURequestMilli
	}
	return part, part > 0
}

// requestsAtTarget is how many requests a second a pod serves at the target of a metric that counts requests.
func requestsAtTarget(m *source.Spec) (perSecond float64, ok bool) {
	return float64(m.Target.Milli) / 1000, countsRequests(m) && m.Target.Type == source.AverageValue
}

// countsRequests reports whether a metric is requests per second: of each pod, or of all.
func countsRequests(m *source.Spec) bool {
	return m.Type == source.Pods || m.IsPodEndpoint() && m.IsRate || isOffered(m)
}

// isOffered reports whether a metric is all the requests that come, also those that no pod serves.
// Pods in front of the workload count them all.
func isOffered(m *source.Spec) bool {
	return m.Type == source.Object || m.Type == source.Prometheus || m.OtherPods != "" && m.IsRate
}

// isWaiting reports whether a metric is the requests that wait. A gauge of pods in front of the workload is their
// queue.
func isWaiting(m *source.Spec) bool {
	return m.Type == source.External || m.Type.ReportsActivity() || m.OtherPods != "" && !m.IsRate
}

// isGauge reports whether a metric is the requests that are in each pod.
func isGauge(m *source.Spec) bool {
	return m.IsPodEndpoint() && !m.IsRate && m.Target.Type == source.AverageValue
}

func isMemory(m *source.Spec) bool {
	isResource := m.Type == source.Resource || m.Type == source.ContainerResource
	return isResource && m.Name == string(corev1.ResourceMemory)
}

// cpuPart is without what sidecars use of what the metric counts.
func (w *Workload) cpuPart(m *source.Spec) float64 {
	request, used := w.sidecars(m)
	if m.Target.Type == source.Utilization {
		return (float64(m.Target.Percent)/100*(w.CPURequestMilli+request) - used) / w.CPURequestMilli
	}
	return (float64(m.Target.Milli) - used) / w.CPURequestMilli
}

// memoryRequests is how many requests a second a pod serves whose memory is at the metric's target; below 0 if it is
// above that without any.
func (w *Workload) memoryRequests(m *source.Spec) float64 {
	p := &w.Profile
	perRequest := p.MemoryPerRequestBytes * p.MemoryHold.Seconds()
	if perRequest <= 0 {
		return 0
	}
	return (w.memoryTarget(m) - w.idleMemory(m)) / perRequest
}

// memoryTarget is in bytes.
func (w *Workload) memoryTarget(m *source.Spec) float64 {
	if m.Target.Type != source.Utilization {
		return float64(m.Target.Milli) / 1000
	}
	sum := 0.0
	for i, pod := 0, w.wholePod(); i < len(pod.Spec.Containers); i++ {
		if c := &pod.Spec.Containers[i]; m.Container == "" || m.Container == c.Name {
			sum += c.Resources.Requests.Memory().AsApproximateFloat64()
		}
	}
	return sum * float64(m.Target.Percent) / 100
}

// idleMemory returns the memory that a pod uses without requests, as the metric counts it.
func (w *Workload) idleMemory(m *source.Spec) float64 {
	sum := w.Profile.MemoryBaseBytes
	for i := range w.Sidecars {
		switch m.Container {
		case "":
			sum += world.SidecarMemoryBytes
		case w.Sidecars[i].Name:
			sum = world.SidecarMemoryBytes
		}
	}
	return sum
}

// gaugePart is the part of its request that a pod uses with so many requests in it. By Little's law these are the
// requests of a second times their latency, which internal/workloadmodel has: with u for the part, C for the requests
// of a second at 100 %, a for the CPU request in parts of the CPU that one request gets, and b for it in parts of the
// CPU that the pod gets,
//
//	requests = u*C*io + u*a / (1 - u*b)
//
// which is a quadratic equation for u.
func (w *Workload) gaugePart(requests float64) float64 {
	const oneCore = 1000
	io := w.servesAtFull() * w.Profile.IOLatency.Seconds()
	a, b := w.CPURequestMilli/min(w.ceilingMilli(), oneCore), w.CPURequestMilli/w.ceilingMilli()
	p := io + a + requests*b
	// The form with the root below the line is exact where io is 0, and the equation linear.
	return 2 * requests / (p + math.Sqrt(p*p-4*io*b*requests))
}
