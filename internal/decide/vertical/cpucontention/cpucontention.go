// Package cpucontention measures the CPU demand that usage does not show: a container would have used more CPU if it
// had been available.
package cpucontention

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Shares are the parts of the time in which a container needed CPU and got none. A missing share is zero: on cgroup v1
// there is no pressure.
//
// As demand, they raise the sample of CPU:
//
//	demand = usage * (1 + max(throttled, pressure))
//
// A container that is throttled in every period used its whole limit, and no counter shows how much more it needed;
// demand is at most twice the usage. The request grows accordingly, its limit with it, and the next samples show more.
type Shares struct {
	// Throttled is the share of CFS periods in which the limit stopped the container.
	Throttled float64
	// Pressure is the share of time in which some of its tasks waited for a CPU.
	Pressure float64
	// IsKnown is false if the container's node could not be read.
	IsKnown bool
}

// Factor returns the ratio of demand to usage.
func (s Shares) Factor() float64 {
	return 1 + min(1, max(0, finite(s.Throttled), finite(s.Pressure)))
}

// Max returns the higher of each share. It is known if either is.
func (s Shares) Max(other Shares) Shares {
	return Shares{
		Throttled: max(s.Throttled, finite(other.Throttled)), Pressure: max(s.Pressure, finite(other.Pressure)),
		IsKnown: s.IsKnown || other.IsKnown,
	}
}

func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// A container becomes contended at the first share, and stops being so below the second, so that the condition does not
// flap.
const (
	contendedFrom  = 0.25
	contendedUntil = 0.1
)

// Contended has the containers that get less CPU than they need. The zero value is empty.
type Contended struct {
	throttled, pressed map[string]bool
}

// Update records the highest shares of containers. A container without known shares keeps its state.
func (c *Contended) Update(highest map[string]Shares) {
	for container, s := range highest {
		if !s.IsKnown {
			continue
		}
		mark(&c.throttled, container, isContended(c.throttled[container], s.Throttled))
		mark(&c.pressed, container, isContended(c.pressed[container], s.Pressure))
	}
}

// Message lists them; empty if there are none.
func (c *Contended) Message() string {
	var parts []string
	for _, why := range []struct {
		containers map[string]bool
		text       string
	}{{c.throttled, "its limit stops it in many of its CFS periods"},
		{c.pressed, "its tasks wait for a CPU for much of the time"}} {
		for container := range why.containers {
			parts = append(parts, fmt.Sprintf("container %s wants more CPU than it gets: %s", container, why.text))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func isContended(was bool, share float64) bool {
	if was {
		return share >= contendedUntil
	}
	return share >= contendedFrom
}

// mark keeps only the containers that are contended.
func mark(all *map[string]bool, container string, is bool) {
	switch {
	case !is:
		delete(*all, container)
	case *all == nil:
		*all = map[string]bool{container: true}
	default:
		(*all)[container] = true
	}
}
