package metric

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
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
)

// String names the group as explanations print it.
func (g Group) String() string {
	return [...]string{"counted", "ignored", "unready", "missing", "without the container"}[g]
}

// Counts are the sizes of the groups.
type Counts struct {
	Counted, Ignored, Unready, Missing, Lacking int
}

// group sorts the pods, in upstream's order of tests (replica_calculator.go,
// groupPods, v1.37.1): the first that holds decides.
func group(spec *Spec, reading *Reading, c *Context, room []Group) ([]Group, Counts) {
	groups := slices.Grow(room[:0], len(c.Pods))[:len(c.Pods)]
	var counts Counts
	partial := partialContainer(reading, c)
	for i := range c.Pods {
		g := groupOf(&c.Pods[i], &reading.Samples[i], spec, c)
		if partial && g != Ignored && reading.Requests[i].Missing == ContainerNotFound {
			g = Lacking
		}
		groups[i] = g
		counts.add(g)
	}
	return groups, counts
}

func groupOf(pod *Pod, sample *Sample, spec *Spec, c *Context) Group {
	switch {
	case pod.Deleting || pod.Phase == PhaseFailed:
		return Ignored
	case pod.Phase == PhaseSucceeded && c.Divergences.Has(divergence.SucceededPods):
		return Ignored
	case pod.Phase == PhasePending:
		return Unready
	case !sample.Present:
		return Missing
	case spec.Type != Pods && spec.Name == CPU && starting(pod, sample, c):
		return Unready
	default:
		return Counted
	}
}

// starting reports whether a pod's CPU sample shows its start rather than its
// work. During the initialization period a sample counts once its whole window
// lies after the pod became ready; later, a pod is left out only if it has
// never been ready.
func starting(pod *Pod, sample *Sample, c *Context) bool {
	if pod.Ready == NoReadiness || pod.StartTime.IsZero() {
		return true
	}
	if pod.StartTime.Add(c.CPUInitializationPeriod).After(c.Now) {
		return pod.Ready == ReadyFalse || sample.At.Before(pod.ReadyTransition.Add(sample.Window))
	}
	return pod.Ready == ReadyFalse && pod.StartTime.Add(c.InitialReadinessDelay).After(pod.ReadyTransition)
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

func (n *Counts) add(g Group) {
	switch g {
	case Counted:
		n.Counted++
	case Ignored:
		n.Ignored++
	case Unready:
		n.Unready++
	case Missing:
		n.Missing++
	case Lacking:
		n.Lacking++
	}
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
