package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Group says how a pod counts in a metric.
type Group uint8

// The groups.
const (
	// Counted: the pod's sample is used.
	Counted Group = iota
	// Ignored: the pod is being deleted, or has finished.
	Ignored
	// Unready: the pod starts, so that its sample would mislead.
	Unready
	// Missing: the pod should have a sample and has none.
	Missing
	// Lacking: the pod does not have the container that the metric names.
	Lacking
	// Unsampled: the pod is not in the sample of pods, and counts like those that are. Only pods whose samples would count
	// are Unsampled.
	Unsampled

	groupCount
)

// String names the group as explanations print it.
func (g Group) String() string {
	return [...]string{"counted", "ignored", "unready", "missing", "without the container", "not sampled"}[g]
}

// sizes are the sizes of the groups, by group.
type sizes [groupCount]int

func (n *sizes) counts() Counts {
	return Counts{
		Counted: n[Counted], Ignored: n[Ignored], Unready: n[Unready], Missing: n[Missing], Lacking: n[Lacking],
		Unsampled: n[Unsampled],
	}
}

// Counts are the sizes of the groups.
type Counts struct {
	Counted, Ignored, Unready, Missing, Lacking, Unsampled int
}

// Pods returns the number of pods, except the ignored ones.
func (n *Counts) Pods() int { return n.Counted + n.Unready + n.Missing + n.Lacking + n.Unsampled }

// Asked returns how many of the pods that would count are in the sample.
func (n *Counts) Asked() int { return n.Counted + n.Missing + n.Lacking }

// grouping has the settings for sorting the pods of one metric into groups, computed once.
type grouping struct {
	// startup is set if a sample may show a pod's start.
	startup bool
	// finished is set if pods which have finished are ignored.
	finished bool
	// recent is set if pods that have just become ready count for less.
	recent bool
	// once is set if load that moves from one pod to another counts once.
	once bool
	// least is the shortest time for which a pod must have been ready when its sample was taken.
	least time.Duration
	// now is the time of the decision. Pods that started later than young are in the initialization period. Both are in
	// nanoseconds since 1970.
	now, young int64
	delay      time.Duration
	// unasked is the sample assumed for a pod that is not in the sample of pods.
	unasked Sample
}

func groupingOf(spec *source.Spec, c *Context) grouping {
	by := grouping{
		startup:  spec.IsCPU() || spec.Type == source.PodEndpoint,
		finished: c.Divergences.Has(divergence.SucceededPods),
		recent:   spec.IsCPU() && c.Divergences.Has(divergence.RecentlyReady),
		once:     (spec.IsCPU() || spec.Type == source.PodEndpoint) && c.Divergences.Has(divergence.LoadOnce),
		now:      arithmetic.Nanos(c.Now),
		young:    arithmetic.Nanos(c.Now.Add(-c.CPUInitializationPeriod)),
		delay:    c.InitialReadinessDelay,
		unasked:  Sample{At: c.Now, Window: averaging.ShortestWindow},
	}
	if by.recent {
		by.least = averaging.ShortestWindow
	}
	return by
}

// group returns the group of a pod, by upstream's tests in their order (replica_calculator.go, groupPods, v1.37.1): the
// first that holds decides.
func (by *grouping) group(pod *Pod, sample *Sample) Group {
	switch {
	case pod.Deleting || pod.Phase == PhaseFailed:
		return Ignored
	case pod.Phase == PhaseSucceeded && by.finished:
		return Ignored
	case pod.Phase == PhasePending:
		return Unready
	case !sample.Present && sample.Unsampled && (pod.Ready != ReadyTrue || by.starting(pod, &by.unasked)):
		return Unready // the sample stands for ready pods only
	case !sample.Present && sample.Unsampled:
		return Unsampled
	case !sample.Present:
		return Missing
	case by.startup && by.starting(pod, sample):
		return Unready
	default:
		return Counted
	}
}

// starting reports whether a pod's sample shows its start rather than its work. During the initialization period a
// sample counts once its whole window is after the pod became ready, and that window is no shorter than the least by
// which the windows of the other pods are cut: theirs may reach back to when they carried its share of the load. Later,
// a pod is excluded only if it has never been ready.
func (by *grouping) starting(pod *Pod, sample *Sample) bool {
	if pod.Ready == NoReadiness || pod.StartTime.IsZero() {
		return true
	}
	if by.isYoung(pod) {
		return pod.Ready == ReadyFalse || readyFor(pod, arithmetic.Nanos(sample.At)) < max(sample.Window, by.least)
	}
	return pod.Ready == ReadyFalse && pod.StartTime.Add(by.delay).After(pod.ReadyTransition)
}

// isYoung reports whether a pod is in the initialization period. After it, a pod that becomes ready again was
// overloaded, and has not just started.
func (by *grouping) isYoung(pod *Pod) bool { return arithmetic.Nanos(pod.StartTime) > by.young }

// readyFor returns how long a pod had been ready at a time.
func readyFor(pod *Pod, at int64) time.Duration {
	return time.Duration(at - arithmetic.Nanos(pod.ReadyTransition))
}

// partialContainer reports whether the metric's container is present in a part
// of the pods only.
func partialContainer(reading *Reading, c *Context) bool {
	if !c.Divergences.Has(divergence.PartialContainer) {
		return false
	}
	found, absent := false, false
	for _, r := range reading.Requests {
		if r.Missing == ContainerNotFound {
			absent = true
		} else {
			found = true
		}
	}
	return found && absent
}

// readyPods counts the running, ready pods, deleted ones included, as upstream
// does for Value targets.
func readyPods(pods []Pod) int64 {
	var n int64
	for i := range pods {
		if pods[i].Phase == PhaseRunning && pods[i].Ready == ReadyTrue {
			n++
		}
	}
	return n
}

// ReadyPods returns the number of pods with a share of the load, and since when all of them have had one: the API
// truncates the time to seconds. These are the ready pods, and the pods past the initialization period: overload makes
// pods unready now and then, and their load then moves to no new pod.
func ReadyPods(pods []Pod, young time.Time) (n int32, since time.Time) {
	before, latest := arithmetic.Nanos(young), arithmetic.Nanos(since)
	for i := range pods {
		p := &pods[i]
		if p.Phase != PhaseRunning || p.Deleting {
			continue
		}
		switch {
		case arithmetic.Nanos(p.StartTime) < before && !p.StartTime.IsZero():
			n++
		case p.Ready == ReadyTrue:
			n++
			if ready := arithmetic.Nanos(p.ReadyTransition); ready > latest {
				latest, since = ready, p.ReadyTransition
			}
		}
	}
	return n, since.Add(time.Second)
}
