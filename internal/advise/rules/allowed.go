package rules

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func allowedRules() []*Rule {
	return []*Rule{
		{
			Name: "max-allowed-missing", Level: Advice, Title: "A VPA has no maxAllowed",
			Why: "Without an upper bound a leak of memory, or one busy day, can raise the recommendation beyond what any node " +
				"has, and the pods stay pending. Set maxAllowed for each resource that the VPA controls.",
			Source: guide + "#recommendations-in-a-box", Needs: []string{objects.VPA}, Check: checkNoMaximum,
		},
		{
			Name: "request-above-max-allowed", Level: Warning, Title: "The initial request is above maxAllowed",
			Why: "No recommendation is above maxAllowed, and neither is its upper bound. So the pod is above the upper bound " +
				"from the start, and is evicted at once.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkAboveMaxAllowed,
		},
		{
			Name: "allowed-outside-limit-range", Level: Warning,
			Title: "No recommendation is within minAllowed, maxAllowed and the LimitRange",
			Why: "minAllowed and maxAllowed apply after a LimitRange, so a maxAllowed below its min, or a minAllowed above " +
				"its max, makes pods that the API server refuses: with upstream's admission controller the workload can create " +
				"none. Plimsoll's leaves such pods as they are, so that the recommendation has no effect.",
			Source: vpaDocs, Needs: []string{objects.VPA, objects.LimitRange}, Check: checkOutsideLimitRange,
		},
		{
			Name: "min-allowed-beyond-limit", Level: Warning, Title: "A limit keeps a container below minAllowed",
			Why: "With RequestsOnly a recommendation is capped at the container's limit, also where minAllowed is higher. " +
				"minAllowed has no effect then.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkMinBeyondLimit,
		},
	}
}

func checkNoMaximum(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		if v.Mode() == vpav1.UpdateModeOff {
			continue
		}
		missing := unbounded(c, v)
		if len(missing) == 0 {
			continue
		}
		f := Finding{
			Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"},
			Why:    fmt.Sprintf("There is no maxAllowed for %s.", strings.Join(missing, ", ")),
			Remedy: "Set it to less than what the largest node can give beside the pods of DaemonSets.",
		}
		cpu, leftCPU, ok := roomiest(c, c.TargetOfVertical(v), corev1.ResourceCPU)
		if memory, leftMemory, known := roomiest(c, c.TargetOfVertical(v), corev1.ResourceMemory); ok && known {
			f.Remedy = fmt.Sprintf("The largest node has %s of CPU and %s of memory, of which DaemonSets leave %s and %s.",
				cpu.String(), memory.String(), leftCPU.String(), leftMemory.String())
		}
		found = append(found, f)
	}
	return found
}

// unbounded are the resources without a maximum that a VPA controls, with their containers. A limit that stays is one.
func unbounded(c *objects.Collection, v *objects.Vertical) []string {
	w := c.TargetOfVertical(v)
	if w == nil || len(w.Sized()) == 0 {
		return unboundedOf(v.PolicyFor(vpav1.DefaultContainerResourcePolicy), "", nil)
	}
	var missing []string
	for _, container := range w.Sized() {
		policy := v.PolicyFor(container.Name)
		missing = append(missing, unboundedOf(policy, " of container "+container.Name, func(name corev1.ResourceName) bool {
			_, _, isLimited := c.LimitOf(w, container, name)
			return isLimited && !policy.ScalesLimits()
		})...)
	}
	return missing
}

// unboundedOf are the resources that a policy controls without a maximum, and that nothing else bounds.
func unboundedOf(policy objects.Policy, of string, isBounded func(corev1.ResourceName) bool) []string {
	var missing []string
	for _, name := range sized {
		_, has := policy.MaxAllowed[name]
		if !has && policy.Controls(name) && (isBounded == nil || !isBounded(name)) {
			missing = append(missing, string(name)+of)
		}
	}
	return missing
}

func checkAboveMaxAllowed(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		request, ok := c.RequestOf(s.w, s.container, s.name)
		most, bounded := s.policy.MaxAllowed[s.name]
		if !ok || !bounded || !s.v.Evicts() || request.Cmp(most) <= 0 || s.outsideRange(c) != "" {
			continue
		}
		found = append(found, Finding{
			Object: s.w.TemplateObject, Field: s.request(),
			Why: fmt.Sprintf("Container %s requests %s of %s, more than VPA %s's maxAllowed %s: the pod is evicted at once.",
				s.container.Name, request.String(), s.name, s.v.Name, most.String()),
			Remedy: "Or raise maxAllowed, if the container needs so much.",
			Patch:  patch(s.w.TemplateObject).set(s.request(), most.String()),
		})
	}
	return found
}

const wholePod = "the pod's own resources"

// reachable is the least that a VPA can recommend by its minAllowed, and what caps it: a limit that does not follow, or
// the pod's own resources.
func (s *sizing) reachable(c *objects.Collection) (least resource.Quantity, capped string, bounded bool) {
	least, bounded = s.policy.MinAllowed[s.name]
	if !bounded {
		return least, "", false
	}
	if limit, _, is := c.LimitOf(s.w, s.container, s.name); is && !s.policy.ScalesLimits() && limit.Cmp(least) < 0 {
		least = limit
		capped = fmt.Sprintf("the limit of container %s is %s, at which RequestsOnly caps each recommendation",
			s.container.Name, limit.String())
	}
	if own := s.w.Template.Spec.Resources; own != nil {
		for _, list := range []corev1.ResourceList{own.Limits, own.Requests} {
			if most, is := list[s.name]; is && most.Cmp(least) < 0 {
				least = most
				capped = fmt.Sprintf(wholePod+" are %s, of which container %s cannot request more", most.String(),
					s.container.Name)
			}
		}
	}
	return least, capped, true
}

func checkMinBeyondLimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		_, capped, _ := s.reachable(c)
		if capped == "" {
			continue
		}
		least, remedy := s.policy.MinAllowed[s.name], "Raise the container's limit, or lower minAllowed."
		if strings.HasPrefix(capped, wholePod) {
			remedy = "Raise the pod's own resources, or lower minAllowed."
		}
		found = append(found, Finding{
			Object: &s.v.Object, Field: s.policy.Field.In("minAllowed", string(s.name)),
			Why: fmt.Sprintf("minAllowed of %s is %s, and %s: minAllowed cannot be reached.", s.name, least.String(),
				capped),
			Remedy: remedy,
		})
	}
	return found
}

// beyondNodeTogether finds what the containers of a pod may get together, requests and limits, and no node has.
func beyondNodeTogether(c *objects.Collection, w *objects.Workload, v *objects.Vertical) []Finding {
	var found []Finding
	for _, name := range sized {
		total, left, known := roomiest(c, w, name)
		if !known || left.Sign() <= 0 {
			continue
		}
		requests, limits, single := most(v, w, name)
		f := Finding{Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"}}
		switch {
		case requests.Cmp(single) > 0 && requests.Cmp(left) > 0 && single.Cmp(left) <= 0:
			of := fmt.Sprintf("the %d containers of a pod request %s of %s together", len(w.Containers()), requests.String(),
				name)
			if len(w.Containers()) == 1 {
				of = fmt.Sprintf("a pod request %s of %s with its overhead", requests.String(), name)
			}
			f.Why = fmt.Sprintf("maxAllowed lets %s; the largest node can give %s, and %s beside the DaemonSets' pods.", of,
				total.String(), left.String())
			f.Remedy = "Lower maxAllowed of the containers, so that their sum fits."
		case limits.Cmp(total) > 0 && requests.Cmp(left) <= 0:
			f.Why = fmt.Sprintf("The limits follow the requests, so at maxAllowed the pod may use %s of %s; the largest node "+
				"has %s in all.", limits.String(), name, total.String())
			f.Remedy = "Lower maxAllowed, or let the VPA control requests only."
		default:
			continue
		}
		found = append(found, f)
	}
	return found
}

// most is what a pod may request at most, the limits that it then has, and the largest request of one container.
// Containers without bounds count with what they request, and so do native sidecars and the pod's overhead.
func most(
	v *objects.Vertical, w *objects.Workload, name corev1.ResourceName,
) (requests, limits, single resource.Quantity) {
	isSized := map[string]bool{}
	for _, container := range w.Sized() {
		isSized[container.Name] = true
	}
	for _, container := range w.Containers() {
		policy := v.PolicyFor(container.Name)
		request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
		if bound, bounded := policy.MaxAllowed[name]; bounded && policy.Controls(name) && isSized[container.Name] {
			if policy.ScalesLimits() && !request.IsZero() {
				// Tenths of percents are exact enough for a warning.
				permille := int64(limit.AsApproximateFloat64() / request.AsApproximateFloat64() * 1000)
				limit = *resource.NewMilliQuantity(bound.MilliValue()/1000*permille, bound.Format)
			}
			request = bound
		}
		if request.Cmp(single) > 0 {
			single = request
		}
		requests.Add(request)
		limits.Add(limit)
	}
	requests.Add(w.Template.Spec.Overhead[name])
	return requests, limits, single
}
