package rules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func checkOutsideLimitRange(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		bound := s.outsideRange(c)
		if bound == "" {
			continue
		}
		least, most := c.Bounds(s.w, corev1.LimitTypeContainer, s.name)
		allowed, of, than := s.policy.MaxAllowed[s.name], "below the min", least
		if bound == minAllowed {
			allowed, of, than = s.policy.MinAllowed[s.name], "above the max", most
		}
		found = append(found, Finding{
			Object: &s.v.Object, Field: s.policy.Field.In(bound, string(s.name)),
			Why: fmt.Sprintf("%s of %s is %s for container %s, %s %s of the namespace's LimitRange.", bound, s.name,
				allowed.String(), s.container.Name, of, than.String()),
			Remedy: "Change one of both: no recommendation can be within them.",
		})
	}
	return append(found, outsidePodRange(c)...)
}

// The fields of a policy.
const (
	minAllowed = "minAllowed"
	maxAllowed = "maxAllowed"
)

// outsideRange is the field by which no recommendation can be within the LimitRange of containers; empty if there is
// none.
func (s *sizing) outsideRange(c *objects.Collection) string {
	least, most := c.Bounds(s.w, corev1.LimitTypeContainer, s.name)
	if bound, has := s.policy.MaxAllowed[s.name]; has && least != nil && bound.Cmp(*least) < 0 {
		return maxAllowed
	}
	bound, capped, has := s.reachable(c)
	if !has || capped != "" || most == nil {
		return ""
	}
	if limit := s.limitAt(bound); limit.Cmp(*most) > 0 {
		return minAllowed
	}
	return ""
}

// limitAt is the limit that goes with a request, or the request itself where limits do not follow.
func (s *sizing) limitAt(request resource.Quantity) resource.Quantity {
	limit := resource.NewMilliQuantity(int64(float64(request.MilliValue())*float64(s.ratio())/100), request.Format)
	if limit.Cmp(request) > 0 {
		return *limit
	}
	return request
}

// outsidePodRange compares what the containers of a pod can be recommended together with the LimitRange of pods.
func outsidePodRange(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		for _, v := range c.VerticalsOf(w) {
			found = append(found, outsidePodRangeOf(c, v, w)...)
		}
	}
	return found
}

func outsidePodRangeOf(c *objects.Collection, v *objects.Vertical, w *objects.Workload) []Finding {
	var found []Finding
	for _, name := range sized {
		least, most := c.Bounds(w, corev1.LimitTypePod, name)
		if why := outsidePod(v, w, name, least, most); why != "" {
			found = append(found, Finding{
				Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"}, Why: why,
				Remedy: "Change one of both: no recommendation can be within them.",
			})
		}
	}
	return found
}

func outsidePod(
	v *objects.Vertical, w *objects.Workload, name corev1.ResourceName, least, most *resource.Quantity,
) string {
	var lowest, highest resource.Quantity
	isBounded := len(w.Sized()) > 0
	for _, container := range w.Sized() {
		policy := v.PolicyFor(container.Name)
		low, high := policy.MinAllowed[name], policy.MaxAllowed[name]
		if !policy.Controls(name) {
			low, high = container.Resources.Requests[name], container.Resources.Requests[name]
		}
		isBounded = isBounded && !high.IsZero()
		lowest.Add(low)
		highest.Add(high)
	}
	for _, container := range w.Containers()[len(w.Sized()):] {
		lowest.Add(container.Resources.Requests[name])
		highest.Add(container.Resources.Requests[name])
	}
	switch {
	case least != nil && isBounded && highest.Cmp(*least) < 0:
		return fmt.Sprintf("maxAllowed lets the containers of a pod request %s of %s together, below the min %s of the "+
			"namespace's LimitRange of pods.", highest.String(), name, least.String())
	case most != nil && lowest.Cmp(*most) > 0:
		return fmt.Sprintf("minAllowed makes the containers of a pod request %s of %s together, above the max %s of the "+
			"namespace's LimitRange of pods.", lowest.String(), name, most.String())
	}
	return ""
}
