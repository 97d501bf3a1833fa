// Package conflict finds conflicts between horizontal and vertical autoscalers of one workload.
//
// A Utilization target divides use by requests. If the vertical side changes those requests, it changes the replica
// count that the HPA computes. That changes the use per pod, and with it the recommendation: an untuned feedback loop.
// AverageValue targets and other metrics do not divide by requests and do not conflict (kubernetes/autoscaler: "Known
// limitations" of the vertical pod autoscaler; issues #6247, #8493).
package conflict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Target is a Utilization target of a horizontal autoscaler.
type Target struct {
	Resource vertical.Resource
	// Container is empty for the sum over a pod's containers.
	Container string
}

// Name is that of a horizontal autoscaler, with its kind.
type Name struct{ Kind, Name string }

// String returns both.
func (n Name) String() string { return n.Kind + " " + n.Name }

// Horizontal is an autoscaler of the number of pods.
type Horizontal struct {
	Name    Name
	Targets []Target
}

// Vertical is an autoscaler of their requests.
type Vertical struct {
	Name     string
	Mode     vertical.Mode
	Policies []vertical.ContainerPolicy
}

// Conflict is a resource of a container that both autoscalers control.
type Conflict struct {
	Container string
	Resource  vertical.Resource
	// Horizontal is the name of the first of the horizontal autoscalers.
	Horizontal Name
}

// Find finds the conflicts between autoscalers of one workload with these
// containers, in the containers' order. A vertical autoscaler in mode Off changes
// nothing, so it conflicts with none.
func Find(v *Vertical, horizontals []Horizontal, containers []string) []Conflict {
	if v.Mode == vertical.ModeOff {
		return nil
	}
	var found []Conflict
	for _, container := range containers {
		policy := vertical.PolicyOf(v.Policies, container)
		for r := range vertical.Resource(vertical.Resources) {
			if policy.Off || !policy.Controlled[r] {
				continue
			}
			if i := slices.IndexFunc(horizontals, func(h Horizontal) bool { return h.divides(r, container) }); i >= 0 {
				found = append(found, Conflict{Container: container, Resource: r, Horizontal: horizontals[i].Name})
			}
		}
	}
	return found
}

// divides reports whether the horizontal autoscaler divides by the container's
// request of r.
func (h *Horizontal) divides(r vertical.Resource, container string) bool {
	return slices.ContainsFunc(h.Targets, func(t Target) bool {
		return t.Resource == r && (t.Container == "" || t.Container == container)
	})
}

// Skipped returns the resources of a container that the vertical side does not change.
func Skipped(conflicts []Conflict, container string) (skipped [vertical.Resources]bool) {
	for _, c := range conflicts {
		if c.Container == container {
			skipped[c.Resource] = true
		}
	}
	return skipped
}

// The type and the reasons of the condition that both objects show.
const (
	// Condition is the type of the condition.
	Condition = "AutoscalersConflict"
	// ReasonUtilization is its reason, and that of the event, while it is true.
	ReasonUtilization = "UtilizationOnControlledResource"
	// ReasonNone is its reason once it is over.
	ReasonNone = "NoConflict"
)

// ForVertical describes the conflicts for the status of the vertical object.
func ForVertical(conflicts []Conflict, skips bool) string {
	var parts []string
	for _, name := range horizontals(conflicts) {
		parts = append(parts, fmt.Sprintf("the %s has a Utilization target on %s",
			name, resources(conflicts, &name)))
	}
	consequence := "the two move each other (--vertical-conflict=allow)"
	if skips {
		consequence = "these requests are left alone"
	}
	return strings.Join(parts, ", ") + ", which this object controls: " + consequence +
		"; use AverageValue there, or take the resource out of controlledResources here"
}

// ForHorizontal describes the conflicts with a vertical object for the status of this horizontal one.
func ForHorizontal(conflicts []Conflict, verticalName string, skips bool) string {
	consequence := "the two move each other (--vertical-conflict=allow)"
	if skips {
		consequence = "the vertical side leaves these requests alone"
	}
	return fmt.Sprintf(
		"a Utilization target divides by %s, which the VerticalPodAutoscaler %s controls: %s; use AverageValue here",
		resources(conflicts, nil), verticalName, consequence)
}

func horizontals(conflicts []Conflict) []Name {
	var names []Name
	for _, c := range conflicts {
		if !slices.Contains(names, c.Horizontal) {
			names = append(names, c.Horizontal)
		}
	}
	return names
}

// resources lists the resources in conflict with one autoscaler or, without a name, with any.
func resources(conflicts []Conflict, horizontal *Name) string {
	var parts []string
	for _, c := range conflicts {
		if horizontal == nil || c.Horizontal == *horizontal {
			parts = append(parts, fmt.Sprintf("the %s request of container %s", c.Resource, c.Container))
		}
	}
	return strings.Join(parts, " and ")
}

// Without returns the recommendations without the resources that horizontal autoscalers divide by.
func Without(conflicts []Conflict, recommended []vertical.Recommendation) []vertical.Recommendation {
	if len(conflicts) == 0 {
		return recommended
	}
	rest := slices.Clone(recommended)
	for i := range rest {
		rec := &rest[i]
		for r, skip := range Skipped(conflicts, rec.Container) {
			if skip {
				r := vertical.Resource(r)
				rec.Target, rec.Lower, rec.Upper = rec.Target.Without(r), rec.Lower.Without(r), rec.Upper.Without(r)
			}
		}
	}
	return rest
}
