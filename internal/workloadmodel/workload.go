package workloadmodel

import "time"

// DefaultBacklogLimit is the number of requests that wait for a workload without a ready pod.
const DefaultBacklogLimit = 1000

// Workload is a load and the pods that share it.
type Workload struct {
	name         string
	shape        Shape
	shapeStart   time.Duration
	backlogLimit float64
	isQueue      bool
	pods         []*Pod

	backlog                  float64 // requests that wait for a pod to become ready, or in the queue
	wait                     float64 // seconds that a request waits in the queue
	offered, served, dropped float64 // cumulative
	stats                    WorkloadStats

	// In the current step.
	stepOffered, stepServed, stepLatency float64
	stepDropped                          float64
}

// WorkloadStats is the state of a workload after a step. OfferedTotal = ServedTotal + DroppedTotal + QueueLength.
type WorkloadStats struct {
	Pods, ReadyPods int
	// Totals are requests since the workload was added.
	OfferedTotal, ServedTotal, DroppedTotal float64
	// Rates are means over the last step.
	OfferedPerSecond, ServedPerSecond, DroppedPerSecond float64
	// QueueLength counts the requests in the pods and in the backlog.
	QueueLength float64
	// LatencySeconds is the mean over the requests served in the last step, 0 if there were none.
	LatencySeconds float64
	// CPUMilli is the CPU use of all its pods in the last step.
	CPUMilli float64
}

// Name returns the name that the workload was added with.
func (w *Workload) Name() string { return w.name }

// Stats returns the state after the last step.
func (w *Workload) Stats() WorkloadStats { return w.stats }

// SetBacklogLimit bounds the requests that wait while no pod is ready; the excess is dropped in the next step.
func (w *Workload) SetBacklogLimit(requests float64) { w.backlogLimit = requests }

// SetQueue has requests wait in one queue, which loses none and from which pods take what they can serve.
func (w *Workload) SetQueue(isQueue bool) { w.isQueue = isQueue }

// offer shares the requests of one step, and those that waited for a pod, over the ready pods.
func (w *Workload) offer(now, dt time.Duration) {
	since := now - w.shapeStart
	// Rounding may make a difference of two integrals slightly negative.
	w.stepOffered = max(0, w.shape.Requests(since+dt)-w.shape.Requests(since))
	w.offered += w.stepOffered
	w.stepServed, w.stepLatency, w.stepDropped = 0, 0, 0
	if w.isQueue {
		w.take(dt.Seconds())
		return
	}

	var weights float64
	for _, p := range w.pods {
		if p.ready {
			weights += p.weight()
		}
	}
	incoming := w.stepOffered + w.backlog
	if weights == 0 {
		w.backlog = min(incoming, w.backlogLimit)
		w.drop(incoming - w.backlog)
		return
	}
	w.backlog = 0
	for _, p := range w.pods {
		if p.ready {
			p.arrived = incoming * p.weight() / weights
		}
	}
}

// take has ready pods take from the queue what they can serve in the step.
func (w *Workload) take(seconds float64) {
	w.backlog += w.stepOffered
	var room float64
	for _, p := range w.pods {
		room += p.room(seconds)
	}
	if room == 0 {
		w.wait = maxLatencySeconds
		return
	}
	part := min(1, w.backlog/room)
	for _, p := range w.pods {
		p.arrived = part * p.room(seconds)
	}
	w.backlog = max(0, w.backlog-part*room)
	w.wait = min(w.backlog/room*seconds, maxLatencySeconds)
}

func (w *Workload) drop(requests float64) {
	w.dropped += requests
	w.stepDropped += requests
}

func (w *Workload) finish(seconds float64) {
	s := WorkloadStats{Pods: len(w.pods), QueueLength: w.backlog}
	for _, p := range w.pods {
		if p.ready {
			s.ReadyPods++
		}
		s.QueueLength += p.queue
		s.CPUMilli += p.usedMilli
	}
	w.served += w.stepServed
	s.OfferedTotal, s.ServedTotal, s.DroppedTotal = w.offered, w.served, w.dropped
	s.OfferedPerSecond = w.stepOffered / seconds
	s.ServedPerSecond = w.stepServed / seconds
	s.DroppedPerSecond = w.stepDropped / seconds
	if w.stepServed > 0 {
		s.LatencySeconds = w.stepLatency / w.stepServed
	}
	w.stats = s
}
