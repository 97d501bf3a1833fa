package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

const (
	// PodStart is the time after a pod became ready in which it may use CPU for its own start.
	PodStart = 30 * time.Second
	// podWarm is the time after which all use of a ready pod counts: its window then begins after its start. With one
	// window less, a pod that compiles during its whole start would count with an average that still includes most of
	// that.
	podWarm = PodStart + metricsServerWindow
	// metricsServerWindow is metrics-server's at its default resolution.
	metricsServerWindow = 15 * time.Second
)

// recentTotal has the use of some pods, and the amount that it is compared with.
type recentTotal struct {
	Used, Wanted int64
	Pods         int64
}

// recentPods has the pods that have just become ready and are not warm yet: those ready for less than a window, and
// those ready for longer. Their use is limited.
//
// A pod that starts uses CPU for itself: it loads classes, compiles code and fills caches, also for some seconds after
// it is ready. If that counted as load, each added pod would ask for more pods, and these for more again. So until pods
// have been ready for podWarm, they count together with at most the mean use of the others: they have taken over a
// share of the load, and a share is no more than that.
//
// Without other pods, as at the first start of a target or in a rollout, those that have been ready for a whole window
// of metrics-server replace them: upstream's controller would use their samples, too. After the count was raised they
// do so only once in a sync period: decisions every second would raise it again and again for the start of the same
// pods. Otherwise load cannot be distinguished from a start yet, and the pods count with at most their target, which
// neither raises the count nor prevents it from falling.
type recentPods struct{ newest, newer recentTotal }

// Add adds a pod that had been ready for readyFor when its sample was taken.
func (p *recentPods) Add(readyFor time.Duration, used, wanted int64) {
	switch {
	case readyFor < metricsServerWindow:
		p.newest.add(used, wanted)
	case readyFor < podWarm:
		p.newer.add(used, wanted)
	}
}

func (t *recentTotal) add(used, wanted int64) {
	t.Used, t.Wanted, t.Pods = t.Used+used, t.Wanted+wanted, t.Pods+1
}

// StandIn reports whether there are no other pods, and some of these replace them.
func (p *recentPods) StandIn(all recentTotal) bool {
	return p.newer.Pods > 0 && all.Pods == p.newest.Pods+p.newer.Pods
}

// Newest returns the number of pods that have not been ready for a whole window.
func (p *recentPods) Newest() int64 { return p.newest.Pods }

// Excess returns the part of the pods' total use that does not count. all includes these and the others.
func (p *recentPods) Excess(sum arithmetic.Mode, all recentTotal, target source.Target) int64 {
	limited, others := p.newest, p.newer
	if warm := all.without(limited.and(others)); warm.Pods > 0 {
		limited, others = limited.and(others), warm
	}
	if limited.Pods == 0 {
		return 0
	}
	if others.Pods == 0 {
		others = limited.atTarget(sum, target)
	}
	// The limited pods in proportion to the others: by their requests or their number.
	part, of := limited.Pods, others.Pods
	if target.Type == source.Utilization {
		part, of = limited.Wanted, others.Wanted
	}
	if of <= 0 {
		return 0
	}
	return max(0, limited.Used-sum.MulDiv(others.Used, part, of))
}

func (t recentTotal) and(o recentTotal) recentTotal {
	return recentTotal{t.Used + o.Used, t.Wanted + o.Wanted, t.Pods + o.Pods}
}

func (t recentTotal) without(o recentTotal) recentTotal {
	return recentTotal{t.Used - o.Used, t.Wanted - o.Wanted, t.Pods - o.Pods}
}

// atTarget returns the pods with a use equal to their target.
func (t recentTotal) atTarget(sum arithmetic.Mode, target source.Target) recentTotal {
	if target.Type == source.Utilization {
		t.Used = sum.MulDiv(t.Wanted, int64(target.Percent), 100)
	} else {
		t.Used = sum.MulDiv(t.Pods, target.Milli, 1)
	}
	return t
}
