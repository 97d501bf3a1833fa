package world

import (
	"iter"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Sidecar is a container of each pod beside the one that serves. It uses the same at all times; one that uses no CPU is
// idle.
type Sidecar struct {
	Name                      string
	CPURequestMilli, CPUMilli float64
}

// SidecarMemoryBytes is the working set of a sidecar.
const SidecarMemoryBytes = 16 << 20

// startSeconds is what a sidecar used for its start: metrics-server and Plimsoll take a container that has used nothing
// for one that is not known yet.
const startSeconds = 0.1

// Container is a container of a pod that runs.
type Container struct {
	Name string
	// History has the samples of the kubelet or the agent that Plimsoll has read, and Meter what metrics-server knows.
	History meter.History
	Meter   meter.Meter
	// Agent is what the agent of its node has read the last time; HasAgent says that there is such.
	Agent    meter.Reading
	HasAgent bool

	// model is a pod of its own for the model, as containers have requests and CPU of their own.
	model *workloadmodel.Pod
	// usedSeconds is the CPU time that the model does not count.
	usedSeconds float64
	// sampling is nil where each scrape samples anew.
	sampling *sampling
}

// begin has the containers of a pod run: first the one that serves.
func (w *World) begin(p *Pod) {
	config := workloadmodel.PodConfig{
		Name: p.Name, Resources: w.config.Resources, Profile: w.config.Profile, Age: w.now - p.Running,
	}
	if p.node != nil {
		config.Node = p.node.model
	}
	p.model = w.model.AddPod(config)
	p.model.SetWorkload(w.workload)
	p.Containers = append(p.Containers, Container{Name: w.config.Container, model: p.model})
	for i := range w.config.Sidecars {
		s := &w.config.Sidecars[i]
		config.Name = p.Name + "/" + s.Name
		config.Resources = workloadmodel.Resources{CPURequestMilli: s.CPURequestMilli}
		config.Profile = workloadmodel.Profile{IdleCPUMilli: s.CPUMilli, MemoryBaseBytes: SidecarMemoryBytes}
		p.Containers = append(p.Containers, Container{
			Name: s.Name, model: w.model.AddPod(config), usedSeconds: startSeconds,
		})
	}
	w.housekeeping.begin(p, w.config.Sidecars, w.now)
}

// Containers returns the containers of all running pods.
func (w *World) Containers() iter.Seq2[*Pod, *Container] {
	return func(yield func(*Pod, *Container) bool) {
		for _, p := range w.pods {
			for k := range p.Containers {
				if !yield(p, &p.Containers[k]) {
					return
				}
			}
		}
	}
}

// read returns the container's counters now.
func (c *Container) read(now time.Duration) meter.Reading {
	s := c.model.Stats()
	return meter.Reading{
		At: now, CPUSeconds: c.usedSeconds + s.CPUSeconds, MemoryBytes: s.MemoryBytes, ServedTotal: s.ServedTotal,
		InPod: s.ServedPerSecond * s.LatencySeconds, // Little's law
	}
}

// UsedMilli returns the latest CPU use of all containers of the pod.
func (p *Pod) UsedMilli() (sum float64) {
	for i := range p.Containers {
		sum += p.Containers[i].model.Stats().CPUMilli
	}
	return sum
}

// Current returns the pod's own metrics now; false before it runs.
func (p *Pod) Current(now time.Duration) (meter.Reading, bool) {
	if len(p.Containers) == 0 {
		return meter.Reading{}, false
	}
	return p.Containers[0].read(now), true
}

// Read returns a container's sample by the agent of the pod's node, now by the node's clock.
func (p *Pod) Read(c *Container, now time.Duration) meter.Reading {
	r := c.read(now)
	r.At += p.ClockOffset
	return r
}

// Scraped is what the kubelet answers now of a container: its newest sample, with the time at which that was taken, by
// the node's clock. As long as cAdvisor has fewer than two samples, the kubelet takes the container for one that has
// ended, and answers what the container runtime measures at that moment (k8s.io/kubernetes v1.37.1,
// pkg/kubelet/stats/cadvisor_stats_provider.go, isContainerTerminated).
func (p *Pod) Scraped(c *Container, now time.Duration) (meter.Reading, bool) {
	if c.sampling == nil || c.sampling.taken < known {
		return p.Read(c, now), true
	}
	r := c.sampling.newest
	r.At += p.ClockOffset
	return r, c.sampling.isAny
}
