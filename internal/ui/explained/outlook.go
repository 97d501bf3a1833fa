package explained

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// Bounds are minReplicas and maxReplicas from a time on.
type Bounds struct {
	At time.Time
	schedules.Bounds
	// Schedules has the names of the schedules in force then, including those that ramp.
	Schedules []string
}

// fine is the number of changes that are exact. Beyond it, and in a ramp, changes that are closer together than the
// time divided by fine are omitted.
const fine = 1000

// boundsOver returns the bounds from one time to another, oldest first, by the present object: earlier specs are
// unknown.
func boundsOver(p *horizontal.Policy, from, to time.Time) []Bounds {
	own := schedules.Bounds{MinReplicas: p.MinReplicas, MaxReplicas: p.MaxReplicas}
	if p.WorkloadAutoscaler == nil || len(p.WorkloadAutoscaler.Schedules) == 0 {
		return []Bounds{{At: from, Bounds: own}}
	}
	var all []Bounds
	var cache schedules.Cache
	least := to.Sub(from) / fine
	for at := from; at.Before(to); {
		r := cache.At(at, p.WorkloadAutoscaler.Schedules, own)
		all = append(all, Bounds{At: at, Bounds: r.Bounds, Schedules: namesOf(r.InForce)})
		next := r.Next.At
		if next.IsZero() {
			break
		}
		if soonest := at.Add(least); (r.Next.Kind == schedules.RampStep || len(all) > fine) && next.Before(soonest) {
			next = soonest
		}
		at = next
	}
	return slices.CompactFunc(all, isSameBounds)
}

func isSameBounds(a, b Bounds) bool {
	return a.Bounds == b.Bounds && slices.Equal(a.Schedules, b.Schedules)
}

func namesOf(inForce []schedules.InForce) []string {
	var names []string
	for i := range inForce {
		names = append(names, inForce[i].Schedule.Name)
	}
	return names
}
