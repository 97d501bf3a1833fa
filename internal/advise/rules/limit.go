package rules

import (
	"fmt"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func limitRules() []*Rule {
	return []*Rule{
		{
			Name: "target-beyond-limit", Level: Error, Title: "The target is higher than the limits allow",
			Why: "Containers cannot use more CPU or memory than their limits. If the HPA scales up only beyond that, " +
				"including its tolerance of 10 % or behavior.scaleUp.tolerance, it never scales up, however high the load. " +
				"Without limits the rule compares " +
				"an averageValue with the largest node, and CPU with a hundred times the request. An averageValue of CPU is " +
				"in CPUs: 500m is half of one, and 500 are five hundred.",
			Source: k8sIssues + "72811", Needs: []string{objects.HPA, objects.LimitRange}, Check: checkTargetBeyondLimit,
		},
		{
			Name: "cpu-limit-throttles", Level: Advice, Title: "A CPU limit on a workload that an HPA scales by CPU",
			Why: "A CPU limit throttles a pod even if its node has idle CPU. Throttled CPU is not usage, " +
				"so the HPA sees at most the limit. A surge beyond it looks smaller than it is and takes " +
				"more steps. Set a CPU limit only if you know the healthy range. The rule reports nothing " +
				"where guaranteed-pod does.",
			Source: guide + "#summary", Needs: []string{objects.HPA, objects.LimitRange}, Check: checkCPULimit,
		},
		{
			Name: "cpu-limit-hides-from-vpa", Level: Warning, Title: "A CPU limit on a container that a VPA sizes by CPU",
			Why: "Throttled CPU is not usage. A VPA does not see that a container needs more than its " +
				"limit, and does not recommend more. Without proportional limits (RequestsOnly) the limit " +
				"never grows.",
			Source: guide + "#summary", Needs: []string{objects.VPA, objects.LimitRange}, Check: checkCPULimitVPA,
		},
		{
			Name: "guaranteed-pod", Level: Advice, Title: "An autoscaled workload's pods are Guaranteed",
			Why: "With limits equal to requests, pods are throttled and run out of memory even if the node " +
				"has enough of both, and a VPA does not see it. Prefer Burstable unless you know the " +
				"limits, or unless throttling is intended (static CPUs, for example).",
			Source: guide + "#quality-of-service-qos", Needs: []string{objects.LimitRange}, Check: checkGuaranteed,
		},
		{
			Name: "absolute-limit-scaled", Level: Warning, Title: "An absolute limit under a VPA that scales limits",
			Why: "RequestsAndLimits, the default, keeps the ratio of limit to request. A limit of at least " +
				"twice the request was not meant to follow it. Scaled with the request, it becomes " +
				"useless, or more than a node has.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkAbsoluteLimit,
		},
		{
			Name: "loose-proportional-limit", Level: Advice, Title: "A proportional limit far above the request",
			Why: "If a VPA scales limits with requests, a limit should be 5 % to 20 % above the request. A " +
				"higher limit grows until it no longer protects. guaranteed-pod covers a limit equal to " +
				"its request.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkLooseLimit,
		},
	}
}

// limits sums the containers' limits, or is the pod's; false if one has none.
func limits(
	c *objects.Collection, w *objects.Workload, only string, name corev1.ResourceName,
) (sum resource.Quantity, ok bool) {
	whole := corev1.ResourceList{}
	if r := w.Template.Spec.Resources; r != nil {
		whole = r.Limits
	}
	isLimited := true
	for _, container := range w.Containers() {
		if only != "" && container.Name != only {
			continue
		}
		limit, _, limited := c.LimitOf(w, container, name)
		isLimited = isLimited && limited
		sum.Add(limit)
	}
	// The limit of the pod is one of each container too.
	if limit, has := whole[name]; has && (!isLimited || limit.Cmp(sum) < 0) {
		return limit, limit.Sign() > 0
	}
	return sum, isLimited && sum.Sign() > 0
}

// defaultTolerance is how far beyond its target a metric must be before an HPA scales up, in percent.
const defaultTolerance = 10

func toleranceOf(h *objects.Horizontal) (percent float64) {
	if !hasOwnTolerance(h) {
		return defaultTolerance
	}
	return 100 * h.Spec.Behavior.ScaleUp.Tolerance.AsApproximateFloat64()
}

func checkTargetBeyondLimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		w := c.TargetOfHorizontal(h)
		if w == nil {
			continue
		}
		for _, t := range resourceTargets(h) {
			if f, ok := beyondLimit(c, h, w, t); ok {
				found = append(found, f)
			}
		}
	}
	return found
}

// beyondLimit compares one target with the limits; false if it can be exceeded.
func beyondLimit(c *objects.Collection, h *objects.Horizontal, w *objects.Workload, t resourceTarget) (Finding, bool) {
	limit, limited := limits(c, w, t.container, t.name)
	if !limited {
		return beyondMachine(c, h, w, t)
	}
	most, tolerance := limit.AsApproximateFloat64(), toleranceOf(h)
	begin := 1 + tolerance/100
	f := Finding{Object: &h.Object, Remedy: "Or take the limits away."}
	if t.name == corev1.ResourceCPU {
		f.Remedy = "Or take the CPU limits away."
	}
	hasFields := !h.IsV1 && len(h.Spec.Metrics) > 0
	if value := t.target.AverageValue; value != nil {
		if most > value.AsApproximateFloat64()*begin {
			return f, false
		}
		f.Field = t.field.In("target", "averageValue")
		f.Why = fmt.Sprintf("Pods can use no more %s than their limits, %s; scaling up begins %.4g %% beyond %s%s.", t.name,
			limit.String(), tolerance, value.String(), unitHint(t.name, value, limit))
		if hasFields {
			f.Patch = patch(&h.Object).set(f.Field, part(t.name, limit, begin))
		}
		return f, true
	}
	request, known := requested(c, w, t)
	percent := t.target.AverageUtilization
	if percent == nil || !known || most > request.AsApproximateFloat64()*float64(*percent)/100*begin {
		return f, false
	}
	share := int64(most / request.AsApproximateFloat64() * 100)
	f.Field = t.field.In("target", "averageUtilization")
	f.Why = fmt.Sprintf("Pods can use no more %s than their limits, %s, which is %d %% of the %s requested; scaling up "+
		"begins beyond %d %%.", t.name, limit.String(), share, request.String(), int64(float64(*percent)*begin+wholeMargin))
	if hasFields {
		f.Patch = patch(&h.Object).set(f.Field, min(80, int64(float64(share)*reachable/begin+wholeMargin)))
	}
	return f, true
}

// unitHint describes an amount of CPU that is so large that another unit was probably meant; empty for other amounts.
func unitHint(name corev1.ResourceName, value *resource.Quantity, limit resource.Quantity) string {
	text := value.String()
	cores := value.AsApproximateFloat64()
	if name != corev1.ResourceCPU || cores < 10*limit.AsApproximateFloat64() {
		return ""
	}
	unit := fmt.Sprintf(" (%.4g CPUs", cores)
	if digits := strings.TrimRight(text, "kKMGTPEi"); digits != text || cores > 64 {
		unit += "; was " + digits + "m meant?"
	}
	return unit + ")"
}

const (
	// reachable is the part of its limits at which a pod should have scaled up: 80 % with the default tolerance.
	reachable = 0.88
	// wholeMargin compensates for rounding errors: without it a whole number may be truncated to the next lower one.
	wholeMargin = 1e-9
)

// part returns the target at which scaling up begins when the pods use the reachable part of their limits.
func part(name corev1.ResourceName, of resource.Quantity, begin float64) string {
	if name == corev1.ResourceCPU {
		return quantity(name, int64(float64(of.MilliValue())*reachable/begin+wholeMargin))
	}
	return quantity(name, int64(float64(of.Value())*reachable/begin+wholeMargin))
}

func requested(c *objects.Collection, w *objects.Workload, t resourceTarget) (sum resource.Quantity, ok bool) {
	for _, container := range w.Containers() {
		if t.container != "" && container.Name != t.container {
			continue
		}
		q, known := c.RequestOf(w, container, t.name)
		if !known {
			return resource.Quantity{}, false
		}
		sum.Add(q)
	}
	return sum, sum.Sign() > 0
}

// resourceTarget is the target of a metric that is a resource of pods.
type resourceTarget struct {
	field     objects.Field
	name      corev1.ResourceName
	container string
	target    autoscalingv2.MetricTarget
}

func resourceTargets(h *objects.Horizontal) []resourceTarget {
	var all []resourceTarget
	for i, m := range h.Metrics() {
		field := objects.Field{"spec", "metrics", strconv.Itoa(i)}
		switch {
		case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
			all = append(all, resourceTarget{field: field.In("resource"), name: m.Resource.Name, target: m.Resource.Target})
		case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
			all = append(all, resourceTarget{
				field: field.In("containerResource"), name: m.ContainerResource.Name,
				container: m.ContainerResource.Container, target: m.ContainerResource.Target,
			})
		}
	}
	return all
}

func checkCPULimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if isGuaranteed(c, w) || !isScaledByCPU(c, w) {
			continue
		}
		for _, container := range w.Containers() {
			if isSizedBy(c, w, container.Name, corev1.ResourceCPU) {
				continue
			}
			if f, ok := throttled(c, w, container, "usage above the limit is invisible to the HPA."); ok {
				found = append(found, f)
			}
		}
	}
	return found
}

// throttled is the finding of a container's CPU limit; false without one.
func throttled(c *objects.Collection, w *objects.Workload, container objects.Container, then string) (Finding, bool) {
	limit, own, ok := c.LimitOf(w, container, corev1.ResourceCPU)
	if !ok {
		return Finding{}, false
	}
	why := fmt.Sprintf("Container %s is throttled at %s of CPU", container.Name, limit.String())
	if request, ok := container.Resources.Requests[corev1.ResourceCPU]; ok && !request.IsZero() {
		why += fmt.Sprintf(", %d %% of its request", limit.MilliValue()*100/request.MilliValue())
	}
	if !own {
		return Finding{
			Object: w.TemplateObject, Field: container.Field.In("resources", "limits"),
			Why: why + ", as the namespace's LimitRange gives it a limit; " + then, Remedy: namespaceLimitRemedy,
		}, true
	}
	return Finding{
		Object: w.TemplateObject, Field: container.Field.In("resources", "limits", "cpu"), Why: why + "; " + then,
		Remedy: withoutLimitRemedy, Patch: withoutLimit(w, container),
	}, true
}

// namespaceLimitRemedy has no patch: other pods may need the default.
const namespaceLimitRemedy = "Take the default for cpu out of the LimitRange, or give the container a limit " +
	"of its own that it never reaches."

const withoutLimitRemedy = "Keep the limit if you know that everything above it is a defect."

// withoutLimit takes the CPU limit away. One that stands for a missing request leaves
// its amount there.
func withoutLimit(w *objects.Workload, container objects.Container) *Patch {
	p := patch(w.TemplateObject)
	requests := container.Field.In("resources", "requests")
	if _, ok := container.Resources.Requests[corev1.ResourceCPU]; !ok {
		limit := container.Resources.Limits[corev1.ResourceCPU]
		p.set(requests.In("cpu"), limit.String())
	}
	return p.remove(container.Field.In("resources", "limits", "cpu"))
}

func isScaledByCPU(c *objects.Collection, w *objects.Workload) bool {
	for _, h := range c.HorizontalsOf(w) {
		for _, m := range h.Metrics() {
			if m.Resource != nil && m.Resource.Name == corev1.ResourceCPU ||
				m.ContainerResource != nil && m.ContainerResource.Name == corev1.ResourceCPU {
				return true
			}
		}
	}
	return false
}

func isSizedBy(c *objects.Collection, w *objects.Workload, container string, name corev1.ResourceName) bool {
	for _, v := range c.VerticalsOf(w) {
		if v.PolicyFor(container).Controls(name) {
			return true
		}
	}
	return false
}

func checkCPULimitVPA(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		if s.name != corev1.ResourceCPU {
			continue
		}
		then := fmt.Sprintf("usage above the limit is invisible to VPA %s.", s.v.Name)
		if f, ok := throttled(c, s.w, s.container, then); ok {
			found = append(found, f)
		}
	}
	return found
}

// isGuaranteed reports whether each container limits both resources to what it requests.
func isGuaranteed(c *objects.Collection, w *objects.Workload) bool {
	for _, container := range w.Containers() {
		for _, name := range sized {
			limit, _, limited := c.LimitOf(w, container, name)
			request, requested := c.RequestOf(w, container, name)
			if !limited || limit.IsZero() || requested && limit.Cmp(request) != 0 {
				return false
			}
		}
	}
	return len(w.Containers()) > 0
}

func checkGuaranteed(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if !c.IsAutoscaled(w) || !isGuaranteed(c, w) {
			continue
		}
		f := Finding{
			Object: w.TemplateObject, Field: w.TemplateField.In("spec", "containers"),
			Why: "Every container's limits equal its requests, so the pods are throttled and killed at what they request " +
				"even on an idle node.",
			Remedy: "The patch takes the CPU limits away; keep them if throttling is meant.", Patch: patch(w.TemplateObject),
		}
		for _, container := range w.Containers() {
			if _, own, _ := c.LimitOf(w, container, corev1.ResourceCPU); !own {
				f.Patch, f.Remedy = nil, namespaceLimitRemedy
				break
			}
			f.Patch.Operations = append(f.Patch.Operations, withoutLimit(w, container).Operations...)
		}
		found = append(found, f)
	}
	return found
}

// ratio is a limit in percent of its request, where a VPA scales it along.
func (s *sizing) ratio() int64 {
	request, limit := s.container.Resources.Requests[s.name], s.container.Resources.Limits[s.name]
	if !s.policy.ScalesLimits() || request.IsZero() || limit.IsZero() {
		return 0
	}
	return int64(limit.AsApproximateFloat64() / request.AsApproximateFloat64() * 100)
}

func checkAbsoluteLimit(c *objects.Collection) []Finding {
	var found []Finding
	said := map[string]bool{}
	for _, s := range sizings(c) {
		percent := s.ratio()
		// One policy is for both resources.
		key := s.v.Namespace + "/" + s.v.Name + "/" + s.container.Name
		if percent < 200 || said[key] {
			continue
		}
		said[key] = true
		request, limit := s.container.Resources.Requests[s.name], s.container.Resources.Limits[s.name]
		why := fmt.Sprintf("Container %s limits %s to %s, %d %% of its request %s, and the limit grows with the request",
			s.container.Name, s.name, limit.String(), percent, request.String())
		if most, ok := s.policy.MaxAllowed[s.name]; ok {
			why += fmt.Sprintf(": at maxAllowed %s to %.4g times that", most.String(), float64(percent)/100)
		}
		found = append(found, Finding{
			Object: &s.v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"}, Why: why + ".",
			Patch: setPolicy(s.v, s.container.Name, "controlledValues", "RequestsOnly"),
		})
	}
	return found
}

func checkLooseLimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		percent := s.ratio()
		if percent <= 120 || percent >= 200 {
			continue
		}
		request := s.container.Resources.Requests[s.name]
		field := s.container.Field.In("resources", "limits", string(s.name))
		found = append(found, Finding{
			Object: s.w.TemplateObject, Field: field,
			Why: fmt.Sprintf(
				"Container %s limits %s to %d %% of its request, and VPA %s keeps that ratio; prefer 105 %% to 120 %%.",
				s.container.Name, s.name, percent, s.v.Name),
			Patch: patch(s.w.TemplateObject).set(field, fifthMore(s.name, request.MilliValue(), request.Value())),
		})
	}
	return found
}

// fifthMore is 120 % of an amount.
func fifthMore(name corev1.ResourceName, milli, whole int64) string {
	if name == corev1.ResourceCPU {
		return quantity(name, milli*12/10)
	}
	const mi = 1 << 20
	return quantity(name, whole/10*12/mi*mi)
}
