package podload

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

const (
	// newcomer is the time after its start for which a pod may be unknown because its node is: a scale-up brought it to a
	// node on which the target had no pod. Metrics servers need as long to know a pod, so that a request to one would not
	// help, and would delay decisions on the known pods: a surge continues while its first pods arrive.
	newcomer = 15 * time.Second
	// LongestSampleGap is the longest time between two samples of one container. cAdvisor doubles the interval of a
	// container whose statistics have not changed, up to 15 s, and waits for one to two intervals (v0.60.5,
	// manager/container.go: nextHousekeepingInterval). A pod has samples if all its containers have, an idle one included.
	LongestSampleGap = 30 * time.Second
)

// ErrStarting is returned before a kubelet has been scraped twice.
var ErrStarting = errors.New("fewer than two scrapes of the kubelet so far")

// Reader has the samples of a target's pods at a moment, by the pods' indices.
type Reader interface {
	// Pod returns a pod and the name of its node, which is empty if it has none.
	Pod(i int) (pod *metric.Pod, node string)
	// Agent and Kubelet append the samples of the pod's containers from the node's agent or its kubelet. answers is false
	// if the agent does not respond.
	Agent(i int, dst []Container) (containers []Container, answers bool)
	Kubelet(i int, dst []Container) []Container
	// Health returns that of a node's kubelet.
	Health(node string) Health
}

// Health is that of a node's kubelet: since when it has been read, or why it cannot be read.
type Health struct {
	Since time.Time
	Err   error
}

// Origin is the source of a pod's samples.
type Origin uint8

// The origins. FromNone: the pod has no samples.
const (
	FromNone Origin = iota
	FromKubelet
	FromAgent
)

// View has the usage of some pods at one moment. It is reusable.
type View struct {
	// Period is the time between two scrapes of a kubelet.
	Period time.Duration

	// containers, usages and earlier are parallel slices. An earlier interval without a span is unknown.
	containers []Container
	usages     []Usage
	earlier    []Interval
	// ends has the end of each pod's containers, and ready the time since which it has been ready; zero if it is not.
	ends    []int
	ready   []time.Time
	origins []Origin
	// refused has the containers with impossible values, lacking the ready pods that their agents do not know.
	refused []Usage
	lacking []int
	nodes   map[string]nodeHealth
	// unreadable describes the ready pods on nodes that cannot be read. isComplete is set once all pods were processed.
	unreadable Unreadable
	isComplete bool
}

// nodeHealth is a node's health at the moment.
type nodeHealth struct {
	Health
	// isCounted is set once the node is counted among those of unreadable pods.
	isCounted bool
}

// Look reads the samples of the pods into the view. The error says why they are not enough.
func (v *View) Look(now time.Time, pods int, r Reader) error {
	v.reset()
	for i := range pods {
		v.origins, v.ready = append(v.origins, FromNone), append(v.ready, time.Time{})
		if err := v.readPod(now, i, r); err != nil {
			return err
		}
		v.ends = append(v.ends, len(v.usages))
	}
	v.isComplete = true
	v.compare()
	if !v.unreadable.areFew() {
		return v.unreadable.Err
	}
	return nil
}

func (v *View) reset() {
	v.containers, v.usages, v.earlier = v.containers[:0], v.usages[:0], v.earlier[:0]
	v.ends, v.ready, v.origins = v.ends[:0], v.ready[:0], v.origins[:0]
	v.refused, v.lacking = v.refused[:0], v.lacking[:0]
	if v.nodes == nil {
		v.nodes = map[string]nodeHealth{}
	}
	clear(v.nodes)
	v.unreadable, v.isComplete = Unreadable{}, false
}

// readPod appends a pod's containers, if they are known. Pods that do not count, or that are not ready, cause no error.
func (v *View) readPod(now time.Time, i int, r Reader) error {
	pod, node := r.Pod(i)
	if pod.Phase != metric.PhaseRunning || pod.Deleting || node == "" {
		return nil
	}
	isReady := pod.Ready == metric.ReadyTrue
	if isReady {
		v.unreadable.Ready++
		v.ready[i] = readySince(pod)
	}
	from := len(v.containers)
	if v.readAgent(from, i, pod, r) {
		return nil
	}
	health := v.healthOf(node, r)
	if health.Err != nil {
		return v.countUnreadable(now, pod, node, health)
	}
	v.containers = r.Kubelet(i, v.containers)
	isWhole := v.addUsages(from, i, pod)
	v.collectImplausible(from)
	if isWhole {
		v.origins[i] = FromKubelet
		return nil
	}
	v.drop(from)
	// The pod may not have been sampled for long enough yet.
	if isReady && now.Sub(health.Since) < MaxSampleAge(v.Period) &&
		isBefore(pod.StartTime, health.Since) && !isNew(pod, now) {
		return fmt.Errorf("pod %s on node %s: %w", pod.Name, node, ErrStarting)
	}
	return nil
}

// MaxSampleAge returns the largest age of the newest sample of a container with this scrape period: a sample waits for
// the next scrape for up to a period, and for another one if that fails.
func MaxSampleAge(period time.Duration) time.Duration { return LongestSampleGap + 2*period }

// readAgent appends the containers that the node's agent knows; false if that is not enough.
func (v *View) readAgent(from, i int, pod *metric.Pod, r Reader) bool {
	var answers bool
	if v.containers, answers = r.Agent(i, v.containers); v.addUsages(from, i, pod) {
		v.origins[i] = FromAgent
		v.collectImplausible(from)
		return true
	}
	v.drop(from)
	if answers && pod.Ready == metric.ReadyTrue {
		v.lacking = append(v.lacking, i)
	}
	return false
}

// addUsages computes the usage of the containers that were read for a pod; false if one of them has no values.
func (v *View) addUsages(from, i int, pod *metric.Pod) bool {
	isWhole := len(v.containers) > from
	for k := from; k < len(v.containers); k++ {
		usage := v.containers[k].over(v.ready[i])
		isWhole = isWhole && isKnown(&usage, pod)
		v.usages = append(v.usages, usage)
	}
	return isWhole
}

func (v *View) collectImplausible(from int) {
	for k := from; k < len(v.usages); k++ {
		if v.usages[k].Refused != 0 {
			v.refused = append(v.refused, v.usages[k])
		}
	}
}

func (v *View) drop(from int) { v.containers, v.usages = v.containers[:from], v.usages[:from] }

// over returns the container's use over the stable window. For a pod that has just become ready the window starts at
// that time, once that gives the shortest window: earlier use is no load.
func (c *Container) over(ready time.Time) Usage {
	u := c.Usage(Window{LengthMillis: averaging.StableWindow.Milliseconds()})
	if u.HasCPU && u.CPU.Span < averaging.ShortestWindow-rounding {
		// With a long interval, as of idle containers, the window contains no second one. Start within that interval.
		u.CPU, u.HasCPU = c.CPU.Over(Window{averaging.StableWindow.Milliseconds(), c.CPU.NewestMillis()})
	}
	if !u.HasCPU || ready.IsZero() {
		return u
	}
	if window := averaging.PodWindow(u.CPU.End.Sub(ready), averaging.StableWindow); window < averaging.StableWindow {
		u.CPU, u.HasCPU = c.CPU.Over(Window{LengthMillis: window.Milliseconds()})
	}
	return u
}

// isKnown reports whether a container has values that belong to this pod, not to an earlier one of the same name. With
// samples every second, those of the first seconds after the start of this process are bursts of single requests: they
// do not count before they span the shortest window. Those of a pod that has just started show its start in any case.
func isKnown(u *Usage, pod *metric.Pod) bool {
	if !u.HasCPU || !u.HasMemory || u.CPU.End.Before(pod.StartTime) {
		return false
	}
	began := u.CPU.End.Add(-u.CPU.Span)
	return u.CPU.Span >= averaging.ShortestWindow-rounding || began.Sub(pod.StartTime) < averaging.ShortestWindow
}

// rounding is the amount by which a span of samples may be shorter that come about every second.
const rounding = 500 * time.Millisecond

// readySince returns when a pod was ready at the latest: the API truncates the time to seconds. The time is by the
// kubelet's clock, as those of its samples.
func readySince(pod *metric.Pod) time.Time { return pod.ReadyTransition.Add(time.Second) }

// healthOf returns the node's health, which it reads once.
func (v *View) healthOf(node string, r Reader) nodeHealth {
	h, ok := v.nodes[node]
	if !ok {
		h.Health = r.Health(node)
		v.nodes[node] = h
	}
	return h
}

// countUnreadable counts a pod on a node that cannot be read. The error is ErrStarting if samples are seconds away.
func (v *View) countUnreadable(now time.Time, pod *metric.Pod, node string, h nodeHealth) error {
	switch isStarting := errors.Is(h.Err, ErrStarting); {
	case pod.Ready != metric.ReadyTrue, isStarting && isNew(pod, now):
	case isStarting:
		return h.Err
	default:
		v.unreadable.add(node, &h)
		v.nodes[node] = h
	}
	return nil
}

func isBefore(start, t time.Time) bool { return !start.IsZero() && start.Before(t) }

func isNew(pod *metric.Pod, now time.Time) bool {
	return !pod.StartTime.IsZero() && now.Sub(pod.StartTime) < newcomer
}
