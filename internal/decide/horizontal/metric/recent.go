package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

const (
	// PodStart is how long a pod may be taken to use CPU for itself after it became ready.
	PodStart = 30 * time.Second
	// podWarm is how long a pod has been ready when it counts for all that it uses: its
	// window then begins after its start. One window less, and a pod that compiles for
	// all of its start would count with an average that still includes most of it.
	podWarm = PodStart + metricsServerWindow
	// metricsServerWindow is metrics-server's at its default resolution.
	metricsServerWindow = 15 * time.Second
)

// recentTotal is what some pods use, and what they are compared with.
type recentTotal struct {
	Used, Wanted int64
	Pods         int64
}

// recentPods are those that have become ready a short while ago, and are not warm: for less than a window, and for
// longer. What they count for is limited.
//
// A pod that starts uses CPU for itself: classes are loaded, code is compiled, caches
// are filled, for some seconds after it is ready, too. If that counted as load, each
// pod that is added would ask for more pods, and these for more again. So as long as a
// pod has not been ready for podWarm, such pods count together with at most what the
// others carry on average: load that they have taken over is shared, and a share is no
// more than that.
//
// Where no other pods are there, as at the first start of a target or in a rollout, those
// that have been ready for a whole window of metrics-server stand in for them: they are
// what upstream's controller, too, would decide on. After a rise of the count they do so
// only as often as that decides: deciding each second would follow each rise by the
// next one for the start of the same pods. Otherwise load cannot be distinguished
// from a start yet, and the pods count with at most their target, which neither raises the
// count nor keeps it from falling.
type recentPods struct{ newest, newer recentTotal }

// Add adds a pod that has been ready for so long when its sample was taken.
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

// StandIn reports whether there are none but these, of which some stand in for others.
func (p *recentPods) StandIn(all recentTotal) bool {
	return p.newer.Pods > 0 && all.Pods == p.newest.Pods+p.newer.Pods
}

// Newest returns how many have not been ready for a whole window.
func (p *recentPods) Newest() int64 { return p.newest.Pods }

// Excess returns how much of what all pods use does not count. All are these and the others.
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
	// What the limited pods are to what the others carry: their requests or their number.
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

// atTarget returns the pods as if each used what it is to use.
func (t recentTotal) atTarget(sum arithmetic.Mode, target source.Target) recentTotal {
	if target.Type == source.Utilization {
		t.Used = sum.MulDiv(t.Wanted, int64(target.Percent), 100)
	} else {
		t.Used = sum.MulDiv(t.Pods, target.Milli, 1)
	}
	return t
}
