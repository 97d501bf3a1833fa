package workloadmodel

import "time"

// Model is a set of nodes, workloads and pods under one virtual time. It has no lock: one owner calls it.
type Model struct {
	seed      uint64
	elapsed   time.Duration
	nodes     []*Node
	workloads []*Workload
	pods      []*Pod
}

// New returns an empty model at time 0. Models with the same seed and contents do the same.
func New(seed uint64) *Model { return &Model{seed: seed} }

// Elapsed returns the virtual time since the start of the model.
func (m *Model) Elapsed() time.Duration { return m.elapsed }

// AddNode adds a node with this much CPU for pods; 0 means that the node sets no bound.
func (m *Model) AddNode(name string, cpuMilli float64) *Node {
	n := &Node{name: name, capacityMilli: cpuMilli, idleMilli: defaultNodeIdleMilli, memoryBytes: defaultNodeMemoryBytes}
	m.nodes = append(m.nodes, n)
	return n
}

// AddWorkload adds a workload without load or pods.
func (m *Model) AddWorkload(name string) *Workload {
	w := &Workload{name: name, shape: Constant(0), backlogLimit: DefaultBacklogLimit}
	m.workloads = append(m.workloads, w)
	return w
}

// RemoveWorkload takes a workload out. Its pods stay, without load.
func (m *Model) RemoveWorkload(w *Workload) {
	for len(w.pods) > 0 {
		w.pods[len(w.pods)-1].SetWorkload(nil)
	}
	for i, other := range m.workloads {
		if other == w {
			m.workloads = append(m.workloads[:i], m.workloads[i+1:]...)
			return
		}
	}
}

// AddPod starts a pod: not ready, and of no workload yet.
func (m *Model) AddPod(config PodConfig) *Pod {
	seed := nameSeed(m.seed, config.Name)
	p := &Pod{
		name: config.Name, node: config.Node, seed: seed, index: len(m.pods),
		resources: config.Resources, profile: config.Profile,
		skew: signedUnit(mix(^seed)), // not the noise of second 0
	}
	p.startupLeft = config.Profile.StartupCPUMilli * max(0, config.Profile.Startup-config.Age).Seconds()
	p.memoryBytes = p.workingSet(0)
	m.pods = append(m.pods, p)
	return p
}

// RemovePod ends a pod; its queued requests are dropped.
func (m *Model) RemovePod(p *Pod) {
	p.SetWorkload(nil)
	last := len(m.pods) - 1
	m.pods[p.index] = m.pods[last]
	m.pods[p.index].index = p.index
	m.pods[last] = nil
	m.pods = m.pods[:last]
}

// SetLoad gives a workload a new load, which begins now.
func (m *Model) SetLoad(w *Workload, shape Shape) {
	w.shape = shape
	w.shapeStart = m.elapsed
}

// Advance moves the virtual time on by dt and does all the work of that time in one step. It does not allocate.
func (m *Model) Advance(dt time.Duration) {
	if dt <= 0 {
		return
	}
	seconds := dt.Seconds()
	for _, w := range m.workloads {
		w.offer(m.elapsed, dt)
	}
	for _, n := range m.nodes {
		n.begin()
	}
	slot := uint64(m.elapsed / time.Second)
	for _, p := range m.pods {
		p.demand(seconds, slot)
	}
	for _, n := range m.nodes {
		n.share(seconds)
	}
	for _, p := range m.pods {
		p.run(seconds)
	}
	for _, n := range m.nodes {
		n.finish(seconds)
	}
	for _, w := range m.workloads {
		w.finish(seconds)
	}
	m.elapsed += dt
}
