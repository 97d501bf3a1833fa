package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Group says what part a pod plays in a metric.
type Group uint8

// The groups.
const (
	// Counted pods' samples are used.
	Counted Group = iota
	// Ignored pods are on their way out, or finished.
	Ignored
	// Unready pods are starting: their samples would mislead.
	Unready
	// Missing pods should have a sample and have none.
	Missing
	// Lacking pods do not have the container that the metric names.
	Lacking
	// Unsampled pods were not asked, and are taken to be as those that were. Only pods whose samples would count are.
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

// Pods returns how many there are, without those that are ignored.
func (n *Counts) Pods() int { return n.Counted + n.Unready + n.Missing + n.Lacking + n.Unsampled }

// Asked returns how many were asked of the pods that would count.
func (n *Counts) Asked() int { return n.Counted + n.Missing + n.Lacking }

// grouping is what the pods of one metric are sorted by, worked out once.
type grouping struct {
	// startup is set if a sample may show a pod's start.
	startup bool
	// finished is set if pods which have finished are ignored.
	finished bool
	// recent is set if pods count for less that have just become ready.
	recent bool
	// once is set if load which moves from one pod to another counts once.
	once bool
	// least is how long a pod was ready for when the sample of it was taken that counts.
	least time.Duration
	// now is the time of the decision. Pods that started later than young are in the initialization period. Both are in
	// nanoseconds since 1970.
	now, young int64
	delay      time.Duration
	// unasked is the sample that a pod which was not asked could have.
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

// group sorts a pod, in upstream's order of tests (replica_calculator.go,
// groupPods, v1.37.1): the first that is true decides.
func (by *grouping) group(pod *Pod, sample *Sample) Group {
	switch {
	case pod.Deleting || pod.Phase == PhaseFailed:
		return Ignored
	case pod.Phase == PhaseSucceeded && by.finished:
		return Ignored
	case pod.Phase == PhasePending:
		return Unready
	case !sample.Present && sample.Unsampled && (pod.Ready != ReadyTrue || by.starting(pod, &by.unasked)):
		return Unready // the sample is of pods that are ready, and has their load
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

// starting reports whether a pod's sample shows its start rather than its
// work. During the initialization period a sample counts once its whole window
// lies after the pod became ready, and that window is no shorter than the least
// by which the windows of the other pods are cut: theirs may reach back to when
// they had its part of the load. Later, a pod is left out only if it has never
// been ready.
func (by *grouping) starting(pod *Pod, sample *Sample) bool {
	if pod.Ready == NoReadiness || pod.StartTime.IsZero() {
		return true
	}
	if by.isYoung(pod) {
		return pod.Ready == ReadyFalse || readyFor(pod, arithmetic.Nanos(sample.At)) < max(sample.Window, by.least)
	}
	return pod.Ready == ReadyFalse && pod.StartTime.Add(by.delay).After(pod.ReadyTransition)
}

// isYoung reports whether a pod is in the initialization period. Beyond it, one that turns ready again has been
// overloaded rather than started.
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

// ReadyPods returns how many of the pods have a part of the load, and since when all of them have had: the API
// truncates the time to seconds. They are those that are ready, and those of before the initialization period: overload
// makes pods unready now and then, and their load then moves to no new pod.
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
