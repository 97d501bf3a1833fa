package webhook

import (
	"slices"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
)

// Conflicts finds the conflicts of an object with horizontal autoscalers, from caches.
type Conflicts interface {
	OfVertical(v *vpav1.VerticalPodAutoscaler, containers []string) []conflict.Conflict
	// Skips reports whether the vertical side skips the conflicting resource.
	Skips() bool
}

// ConflictWarnings returns warnings about a horizontal autoscaler with a Utilization target on a resource that this
// object controls. The containers are unknown here: those with a policy are named, the others are "*".
func ConflictWarnings(found Conflicts, v *vpav1.VerticalPodAutoscaler) []string {
	containers := []string{vpav1.DefaultContainerResourcePolicy}
	if policy := v.Spec.ResourcePolicy; policy != nil {
		for i := range policy.ContainerPolicies {
			if name := policy.ContainerPolicies[i].ContainerName; !slices.Contains(containers, name) {
				containers = append(containers, name)
			}
		}
	}
	all := found.OfVertical(v, containers)
	if len(all) == 0 {
		return nil
	}
	return []string{"spec: " + conflict.ForVertical(all, found.Skips())}
}
