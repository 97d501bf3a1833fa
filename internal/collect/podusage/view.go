package podusage

import (
	"errors"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// newcomer is how long after its start a pod may be unknown because its node is: a
// pod that a scale-up brought to a node on which the target had none. Metrics
// servers take as long to know a pod, so that asking one would not help, and would
// put off the pods that are known: a surge goes on while its first pods arrive.
const newcomer = 15 * time.Second

// memory is the resource's name; that of CPU is metric.CPU.
const memory = string(corev1.ResourceMemory)

// View is what was known of some pods at one moment. It may be used again.
type View struct {
	containers []rate.ContainerUsage
	// ends is where each pod's containers end.
	ends []int
	// origins say from whom each pod is known. agents are asked before kubelets; nil for none.
	origins []origin
	agents  *agents
	// refused are those of which something was said that cannot be.
	refused []rate.ContainerUsage
	nodes   map[string]nodeHealth
	// share is that of whoever looks.
	share  averaging.Share
	joint  averaging.CommonWindow
	common averaging.CommonEnd
	// milli is what the ready pods use together.
	milli int64
	// unreadable are the ready pods on nodes that cannot be read. isComplete says that
	// all pods were looked at.
	unreadable Unreadable
	isComplete bool
}

// nodeHealth is a node's health at the moment.
type nodeHealth struct {
	hearing
	err error
	// isCounted says that it is one of the unreadable pods' nodes.
	isCounted bool
}

var _ observehorizontal.PodUsage = (*View)(nil)

func (v *View) reset() {
	v.containers, v.ends, v.refused = v.containers[:0], v.ends[:0], v.refused[:0]
	v.origins, v.agents = v.origins[:0], nil
	if v.nodes == nil {
		v.nodes = map[string]nodeHealth{}
	}
	clear(v.nodes)
	v.joint.Reset(v.share)
	v.common.Reset(v.share)
	v.milli = 0
	v.unreadable, v.isComplete = Unreadable{}, false
}

// lookOver fails where something will be known soon.
func (s *session) lookOver(now time.Time, pods []*observe.Pod, over span, v *View) error {
	v.reset()
	v.agents = s.agents
	for _, pod := range pods {
		v.origins = append(v.origins, fromNobody)
		if err := s.lookAt(now, pod, over, v); err != nil {
			return err
		}
		v.ends = append(v.ends, len(v.containers))
	}
	v.isComplete = true
	return nil
}

// lookAt appends a pod's containers, if they are known. Pods that do not count, or
// that are not ready, are no reason to give up.
func (s *session) lookAt(now time.Time, pod *observe.Pod, over span, v *View) error {
	node := pod.Node()
	if pod.Phase != metric.PhaseRunning || pod.Deleting || node == "" {
		return nil
	}
	if pod.IsReady() {
		v.unreadable.Ready++
	}
	if s.agents != nil && s.useAgent(now, pod, over, v) {
		return nil
	}
	o := s.healthOf(now, node, v)
	if o.err != nil {
		return v.lack(now, pod, o)
	}
	from := len(v.containers)
	isKnown := v.use(now, pod, over, s.store.Usage)
	v.refuse(from)
	if isKnown && v.isWhole(from, pod) {
		v.count(from, pod, over.end)
		v.isFrom(fromKubelet)
		return nil
	}
	v.containers = v.containers[:from]
	// It may only not have been sampled twice yet.
	if now.Sub(o.first) < maxSampleAge(s.period) && pod.IsReady() && startedBefore(pod, o.first) && !isNew(pod, now) {
		return fmt.Errorf("pod %s on node %s: %w", pod.Name, node, ErrStarting)
	}
	return nil
}

// useAgent appends a pod's containers as the agent of its node knows them; false if it does not know enough.
func (s *session) useAgent(now time.Time, pod *observe.Pod, over span, v *View) bool {
	if !s.agents.want(now, pod) {
		return false
	}
	from := len(v.containers)
	isKnown := v.use(now, pod, over,
		func(q rate.Query, dst []rate.ContainerUsage) ([]rate.ContainerUsage, bool) {
			return s.agents.usage(q, pod, dst)
		})
	if !isKnown || !v.isWhole(from, pod) {
		v.containers = v.containers[:from]
		if pod.IsReady() {
			s.agents.lacks(now, pod)
		}
		return false
	}
	v.refuse(from)
	v.count(from, pod, over.end)
	v.isFrom(fromAgent)
	return true
}

// isFrom notes from whom the pod is known that is looked at.
func (v *View) isFrom(known origin) { v.origins[len(v.origins)-1] = known }

// healthOf is the node's, asked for once.
func (s *session) healthOf(now time.Time, node string, v *View) nodeHealth {
	o, isKnown := v.nodes[node]
	if !isKnown {
		o.hearing, o.err = s.health(node, now)
		v.nodes[node] = o
	}
	return o
}

// lack counts a pod on a node of which nothing is known. An error says that something
// will be soon.
func (v *View) lack(now time.Time, pod *observe.Pod, o nodeHealth) error {
	switch isStarting := errors.Is(o.err, ErrStarting); {
	case !pod.IsReady(), isStarting && isNew(pod, now):
	case isStarting:
		return o.err
	default:
		v.unreadable.add(pod.Node(), &o)
		v.nodes[pod.Node()] = o
	}
	return nil
}

// usageOf appends what a store knows of a pod; false if it knows nothing.
type usageOf func(query rate.Query, dst []rate.ContainerUsage) ([]rate.ContainerUsage, bool)

// use appends a pod's containers as a store knows them; false if it knows nothing.
func (v *View) use(now time.Time, pod *observe.Pod, over span, usage usageOf) (isKnown bool) {
	from := len(v.containers)
	query := rate.Query{
		Node: pod.Node(), Namespace: pod.Namespace(), Pod: pod.Name, Window: over.window, End: over.end, Now: now,
	}
	v.containers, isKnown = usage(query, v.containers)
	if !over.end.IsZero() && !(isKnown && v.isWhole(from, pod)) {
		// Its samples do not reach back to there.
		query.End = time.Time{}
		v.containers, isKnown = usage(query, v.containers[:from])
	}
	if !isKnown || !pod.IsReady() {
		return isKnown
	}
	if query.Window = averaging.PodWindow(v.readyFor(from, pod), over.window); query.Window < over.window {
		v.containers, isKnown = usage(query, v.containers[:from])
	}
	return isKnown
}

// readyFor is how long a pod certainly was ready when the oldest of its containers'
// newest samples was taken. The API truncates the time to seconds; it is the kubelet's,
// as those of its samples are.
func (v *View) readyFor(from int, pod *observe.Pod) time.Duration {
	readyFor, since := time.Duration(math.MaxInt64), readySince(pod)
	for i := range v.containers[from:] {
		if c := &v.containers[from+i]; c.HasCPU {
			readyFor = min(readyFor, c.CPU.End.Sub(since))
		}
	}
	return readyFor
}

// readySince is when a pod was ready at the latest, truncated to seconds by the API.
func readySince(pod *observe.Pod) time.Time { return pod.ReadyTransition.Add(time.Second) }

// isWhole reports whether all containers that the kubelet knows of the pod have
// values, and of this pod, not of one before it of the same name.
func (v *View) isWhole(from int, pod *observe.Pod) bool {
	for i := range v.containers[from:] {
		c := &v.containers[from+i]
		if !c.HasCPU || !c.HasMemory || c.CPU.End.Before(pod.StartTime) {
			return false
		}
	}
	return true
}

// refuse keeps the containers of which something was said that cannot be.
func (v *View) refuse(from int) {
	for i := range v.containers[from:] {
		if c := &v.containers[from+i]; c.Refused != 0 {
			v.refused = append(v.refused, *c)
		}
	}
}

func startedBefore(pod *observe.Pod, t time.Time) bool {
	return !pod.StartTime.IsZero() && pod.StartTime.Before(t)
}

func isNew(pod *observe.Pod, now time.Time) bool {
	return !pod.StartTime.IsZero() && now.Sub(pod.StartTime) < newcomer
}

// of is the containers of a pod by its place.
func (v *View) of(pod int) []rate.ContainerUsage {
	from := 0
	if pod > 0 {
		from = v.ends[pod-1]
	}
	return v.containers[from:v.ends[pod]]
}

// IsEmpty implements observe.PodUsage.
func (v *View) IsEmpty() bool { return len(v.containers) == 0 }

// Sample implements observe.PodUsage. As metrics-server's, a pod's sample has the
// time and the window of that container of which the oldest is known.
func (v *View) Sample(pod int, spec *source.Spec, sum arithmetic.Mode) metric.Sample {
	var s metric.Sample
	containers := v.of(pod)
	for i := range containers {
		c := &containers[i]
		if spec.Container != "" && c.Name != spec.Container {
			continue
		}
		switch spec.Name {
		case source.CPU:
			s.Milli = sum.Add(s.Milli, c.CPU.MilliCores())
			s.UncountedMilli = sum.Add(s.UncountedMilli, c.UncountedNanoCores/1_000_000)
		case memory:
			s.Milli = sum.Add(s.Milli, sum.MulDiv(c.MemoryBytes, 1000, 1))
		default:
			return metric.Sample{}
		}
		if !s.Present || c.CPU.End.Before(s.At) {
			s.At, s.Window = c.CPU.End, c.CPU.Span
		}
		s.Present = true
	}
	return s
}

// Recent implements observe.PodUsage.
func (v *View) Recent(pod int, spec *source.Spec, sum arithmetic.Mode) (recent metric.Recent) {
	if spec.Name != source.CPU {
		return recent
	}
	for k := range recent {
		if recent[k] = v.interval(pod, k, spec, sum); !recent[k].Present {
			return recent
		}
	}
	return recent
}

// interval is the k-th newest interval of a pod, if it is the same one of all its
// containers.
func (v *View) interval(pod, k int, spec *source.Spec, sum arithmetic.Mode) metric.Sample {
	var s metric.Sample
	containers := v.of(pod)
	for i := range containers {
		c := &containers[i]
		if spec.Container != "" && c.Name != spec.Container {
			continue
		}
		if k >= c.RecentCount {
			return metric.Sample{}
		}
		r := &c.Recent[k]
		if s.Present && r.End.Sub(s.At).Abs() > s.Window/2 {
			return metric.Sample{}
		}
		s.Milli = sum.Add(s.Milli, r.MilliCores())
		if !s.Present || r.End.Before(s.At) {
			s.At, s.Window = r.End, r.Span
		}
		s.Present = true
	}
	return s
}

// Containers are what is known of a pod's containers, by the pod's place in what
// Look looked at; none if the pod is not known. They are the view's.
func (v *View) Containers(pod int) []rate.ContainerUsage { return v.of(pod) }

// Refused are the containers of which a kubelet or an agent said what cannot be. They are the view's.
func (v *View) Refused() []rate.ContainerUsage { return v.refused }
