package workloadmodel

import (
	"math"
	"time"
)

const (
	oneCoreMilli = 1000
	// maxUtilization keeps the estimate of the latency finite: at 0.95 a request takes 20 times its CPU time.
	maxUtilization = 0.95
	// maxLatencySeconds is the latency of a pod without any CPU for requests.
	maxLatencySeconds = 600
)

// Resources bound a pod. 0 means that there is no request or no limit.
type Resources struct {
	CPURequestMilli, CPULimitMilli float64
	MemoryLimitBytes               float64
}

// PodConfig describes a pod that starts.
type PodConfig struct {
	// Name is the pod's identity for noise and imbalance.
	Name string
	// Node may be nil: a pod with a CPU of its own.
	Node      *Node
	Resources Resources
	Profile   Profile
	// Age is how long the pod has been running already; its start-up work of that time counts as done.
	Age time.Duration
}

// Pod is one running pod.
type Pod struct {
	name      string
	node      *Node
	workload  *Workload
	seed      uint64
	index     int // in Model.pods
	place     int // in workload.pods
	ready     bool
	resources Resources
	profile   Profile
	skew      float64 // u_i of the model

	queue           float64
	startupLeft     float64 // milli-core-seconds
	cpuMilliSeconds float64 // cumulative
	served, dropped float64 // cumulative
	memoryBytes     float64
	usedMilli       float64
	servedRate      float64
	latencySeconds  float64

	// In the current step, in requests and milli-core-seconds.
	arrived, cost, wanted, fixed float64
}

// PodStats is the state of a pod after a step.
type PodStats struct {
	CPUSeconds      float64 // cumulative, never decreases
	CPUMilli        float64 // mean rate over the last step
	MemoryBytes     float64 // working set
	ServedTotal     float64 // cumulative requests
	DroppedTotal    float64 // cumulative requests
	ServedPerSecond float64 // mean over the last step
	QueueLength     float64 // requests that wait
	LatencySeconds  float64 // estimate for a request that arrives now
}

// Name returns the name that the pod was added with.
func (p *Pod) Name() string { return p.name }

// Workload returns the workload whose load the pod serves, nil for none.
func (p *Pod) Workload() *Workload { return p.workload }

// Stats returns the state after the last step.
func (p *Pod) Stats() PodStats {
	return PodStats{
		CPUSeconds: p.cpuMilliSeconds / 1000, CPUMilli: p.usedMilli, MemoryBytes: p.memoryBytes,
		ServedTotal: p.served, DroppedTotal: p.dropped, ServedPerSecond: p.servedRate,
		QueueLength: p.queue, LatencySeconds: p.latencySeconds,
	}
}

// SetReady starts or stops new requests to the pod. Queued requests are still served.
func (p *Pod) SetReady(ready bool) { p.ready = ready }

// SetResources resizes the pod in place.
func (p *Pod) SetResources(r Resources) { p.resources = r }

// SetProfile changes the behaviour of the pod from now on; start-up work does not begin again.
func (p *Pod) SetProfile(profile Profile) { p.profile = profile }

// SetWorkload moves the pod to another workload, or to none. Its queued requests are dropped from the old one.
func (p *Pod) SetWorkload(w *Workload) {
	if p.workload == w {
		return
	}
	if old := p.workload; old != nil {
		p.dropped += p.queue
		old.drop(p.queue)
		p.queue = 0
		last := len(old.pods) - 1
		old.pods[p.place] = old.pods[last]
		old.pods[p.place].place = p.place
		old.pods[last] = nil
		old.pods = old.pods[:last]
	}
	p.workload = w
	if w != nil {
		p.place = len(w.pods)
		w.pods = append(w.pods, p)
	}
}

func (p *Pod) weight() float64 { return 1 + p.profile.Imbalance*p.skew }

// demand adds the CPU that the pod would use in this step to its node.
func (p *Pod) demand(seconds float64, slot uint64) {
	p.cost = p.profile.CPUPerRequestMilliCoreSeconds
	if p.profile.Noise > 0 {
		p.cost *= 1 + p.profile.Noise*signedUnit(mix(p.seed+slot))
	}
	p.fixed = p.fixedWork(seconds)
	p.wanted = min(p.fixed+(p.queue+p.arrived)*p.cost, p.limit(seconds))
	if p.node != nil {
		p.node.wanted += p.wanted
		p.node.guaranteed += min(p.wanted, p.resources.CPURequestMilli*seconds)
	}
}

// fixedWork returns the CPU of a step that is not for requests.
func (p *Pod) fixedWork(seconds float64) float64 {
	return p.profile.IdleCPUMilli*seconds + min(p.startupLeft, p.profile.StartupCPUMilli*seconds)
}

// freeRoom is the room of a pod without a limit on its queue.
const freeRoom = 1e9

// room returns how many more requests the pod can serve in a step.
func (p *Pod) room(seconds float64) float64 {
	switch {
	case !p.ready:
		return 0
	case p.profile.CPUPerRequestMilliCoreSeconds <= 0 || p.resources.CPULimitMilli <= 0:
		return freeRoom
	}
	free := p.limit(seconds) - p.fixedWork(seconds)
	return max(0, free/p.profile.CPUPerRequestMilliCoreSeconds-p.queue)
}

// limit returns the most CPU that the pod may use in a step.
func (p *Pod) limit(seconds float64) float64 {
	if p.resources.CPULimitMilli <= 0 {
		return math.Inf(1)
	}
	return p.resources.CPULimitMilli * seconds
}

// granted returns the pod's part of the node's CPU.
func (p *Pod) granted(seconds float64) (granted, spare float64) {
	if p.node == nil {
		return p.wanted, math.Inf(1)
	}
	guaranteed := min(p.wanted, p.resources.CPURequestMilli*seconds)
	return guaranteed*p.node.guaranteedPart + (p.wanted-guaranteed)*p.node.extraPart, p.node.spare
}

// run spends the granted CPU: idle and start-up work first, then requests; the rest is queued or dropped.
func (p *Pod) run(seconds float64) {
	granted, spare := p.granted(seconds)
	waiting := p.queue + p.arrived
	p.arrived = 0

	fixed := min(p.fixed, granted)
	idle := p.profile.IdleCPUMilli * seconds
	startup := max(0, fixed-idle)
	p.startupLeft = max(0, p.startupLeft-startup)

	served := waiting
	if p.cost > 0 {
		served = min(waiting, (granted-fixed)/p.cost)
	}
	used := min(fixed+served*p.cost, granted) // min: rounding must not lift it above the cap
	left := waiting - served
	p.queue = min(left, p.profile.QueueLimit)
	p.account(served, left-p.queue)

	p.cpuMilliSeconds += used
	p.usedMilli = used / seconds
	p.servedRate = served / seconds
	ceiling := min(p.limit(seconds), granted+spare) - fixed
	p.latencySeconds = p.latency(served, max(0, ceiling), seconds)
	if p.workload != nil {
		p.latencySeconds += p.workload.wait
	}
	p.memoryBytes = p.workingSet(p.servedRate)
	if p.workload != nil {
		p.workload.stepLatency += served * p.latencySeconds
	}
	if p.node != nil {
		p.node.used += used
		p.node.podMemoryBytes += p.memoryBytes
	}
}

func (p *Pod) account(served, dropped float64) {
	p.served += served
	p.dropped += dropped
	if p.workload != nil {
		p.workload.stepServed += served
		p.workload.drop(dropped)
	}
}

// latency = IOLatency + s/(1-rho) + queue/mu; ceiling is the CPU that requests could have had in the step.
func (p *Pod) latency(served, ceiling, seconds float64) float64 {
	io := p.profile.IOLatency.Seconds()
	if p.cost <= 0 {
		return io
	}
	if ceiling <= 0 {
		return maxLatencySeconds
	}
	service := p.cost / min(ceiling/seconds, oneCoreMilli)
	capacity := ceiling / p.cost // requests in this step: mu * dt, +Inf without any bound
	utilization := min(served/capacity, maxUtilization)
	return min(io+service/(1-utilization)+p.queue/capacity*seconds, maxLatencySeconds)
}

// workingSet = base + per request * (queue + served rate * hold), at most the limit.
func (p *Pod) workingSet(servedRate float64) float64 {
	held := p.queue + servedRate*p.profile.MemoryHold.Seconds()
	bytes := p.profile.MemoryBaseBytes + p.profile.MemoryPerRequestBytes*held
	if limit := p.resources.MemoryLimitBytes; limit > 0 {
		return min(bytes, limit)
	}
	return bytes
}
