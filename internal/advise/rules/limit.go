package rules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func limitRules() []*Rule {
	return []*Rule{
		{
			Name: "target-beyond-limit", Level: Error, Title: "The target is more than the limits allow",
			Why: "Containers cannot use more CPU than their limits. If the HPA scales only beyond that and its tolerance of 10 %, it never scales up, " +
				"however great the load.",
			Source: k8sIssues + "72811", Needs: []string{objects.HPA, objects.LimitRange}, Check: checkTargetBeyondLimit,
		},
		{
			Name: "cpu-limit-throttles", Level: Advice, Title: "A CPU limit on a workload that an HPA scales by CPU",
			Why: "A CPU limit throttles a pod while its node has CPU to spare, and what is throttled is not used: the HPA sees at most the limit, " +
				"so a surge beyond it looks smaller than it is and takes more steps. Set one only if you know the healthy range. " +
				"Where guaranteed-pod says it already, this rule is silent.",
			Source: guide + "#summary", Needs: []string{objects.HPA}, Check: checkCPULimit,
		},
		{
			Name: "cpu-limit-hides-from-vpa", Level: Warning, Title: "A CPU limit on a container that a VPA sizes by CPU",
			Why: "Throttling is not usage, so a VPA does not see that a container wants more than its limit, and does not recommend more. " +
				"Without proportional limits (RequestsOnly) the limit never grows.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkCPULimitVPA,
		},
		{
			Name: "guaranteed-pod", Level: Advice, Title: "An autoscaled workload's pods are Guaranteed",
			Why: "With limits equal to requests pods are throttled and go out of memory even where the node has enough of both, and a VPA does not see it. " +
				"Prefer Burstable unless you know the limits, or throttling is meant (static CPUs, for example).",
			Source: guide + "#quality-of-service-qos", Check: checkGuaranteed,
		},
		{
			Name: "absolute-limit-scaled", Level: Warning, Title: "An absolute limit, and a VPA that scales limits",
			Why: "RequestsAndLimits, the default, keeps the ratio of limit and request. A limit of at least twice the request was not made to follow it: " +
				"scaled with it, it becomes useless, or more than a node has.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkAbsoluteLimit,
		},
		{
			Name: "loose-proportional-limit", Level: Advice, Title: "A proportional limit far above the request",
			Why: "Where a VPA scales limits with requests, a limit should be 5 % to 20 % more than the request: what is further away grows to where it no longer " +
				"protects. A limit equal to its request is left to guaranteed-pod.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkLooseLimit,
		},
	}
}

// limits sums the containers' CPU limits; false if one has none.
func limits(w *objects.Workload, only string) (milli int64, ok bool) {
	for _, container := range w.Containers() {
		if only != "" && container.Name != only {
			continue
		}
		limit, limited := container.Resources.Limits[corev1.ResourceCPU]
		if !limited {
			return 0, false
		}
		milli += limit.MilliValue()
	}
	return milli, milli > 0
}

func checkTargetBeyondLimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		w := c.TargetOfHorizontal(h)
		if w == nil {
			continue
		}
		for _, u := range utilizations(h) {
			limit, limited := limits(w, u.container)
			request, known := requested(c, w, u)
			// Scaling up begins where usage is more than the target by the tolerance, 10 %.
			if u.resource != string(corev1.ResourceCPU) || !limited || !known || limit*1000 > request*int64(u.percent)*11 {
				continue
			}
			f := Finding{
				Object: &h.Object, Field: u.field.In("target", "averageUtilization"),
				Why: fmt.Sprintf("Pods can use no more than their limits, %dm, which is %d %% of the %dm requested; scaling up begins beyond %d %%.",
					limit, limit*100/request, request, int64(u.percent)*11/10),
				Remedy: "Or take the CPU limits away.",
			}
			if !h.IsV1 && len(h.Spec.Metrics) > 0 {
				f.Patch = patch(&h.Object).set(f.Field, min(80, limit*100/request*8/10))
			}
			found = append(found, f)
		}
	}
	return found
}

func requested(c *objects.Collection, w *objects.Workload, u utilization) (milli int64, ok bool) {
	for _, container := range w.Containers() {
		if u.container != "" && container.Name != u.container {
			continue
		}
		q, known := c.RequestOf(w, container, corev1.ResourceName(u.resource))
		if !known {
			return 0, false
		}
		milli += q.MilliValue()
	}
	return milli, milli > 0
}

func checkCPULimit(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if isGuaranteed(w) || !isScaledByCPU(c, w) {
			continue
		}
		for _, container := range w.Containers() {
			limit, ok := container.Resources.Limits[corev1.ResourceCPU]
			if !ok || isSizedBy(c, w, container.Name, corev1.ResourceCPU) {
				continue
			}
			why := fmt.Sprintf("Container %s is throttled at %s of CPU", container.Name, limit.String())
			if request, ok := container.Resources.Requests[corev1.ResourceCPU]; ok && !request.IsZero() {
				why += fmt.Sprintf(", %d %% of its request", limit.MilliValue()*100/request.MilliValue())
			}
			field := container.Field.In("resources", "limits", "cpu")
			found = append(found, Finding{
				Object: &w.Object, Field: field, Why: why + "; the HPA does not see what it wants beyond.",
				Remedy: withoutLimitRemedy, Patch: withoutLimit(w, container),
			})
		}
	}
	return found
}

const withoutLimitRemedy = "Keep the limit if you know that everything above it is a defect."

// withoutLimit takes the CPU limit away. One that stands for a missing request leaves
// its amount there.
func withoutLimit(w *objects.Workload, container objects.Container) *Patch {
	p := patch(&w.Object)
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
			if m.Resource != nil && m.Resource.Name == corev1.ResourceCPU || m.ContainerResource != nil && m.ContainerResource.Name == corev1.ResourceCPU {
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
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		limit, ok := container.Resources.Limits[corev1.ResourceCPU]
		if !ok || !v.PolicyFor(container.Name).Controls(corev1.ResourceCPU) {
			return
		}
		found = append(found, Finding{
			Object: &w.Object, Field: container.Field.In("resources", "limits", "cpu"),
			Why:    fmt.Sprintf("Container %s is throttled at %s of CPU, and VPA %s does not see what it wants beyond.", container.Name, limit.String(), v.Name),
			Remedy: withoutLimitRemedy, Patch: withoutLimit(w, container),
		})
	})
	return found
}

// eachSized visits the containers of workloads with a VPA that applies what it recommends.
func eachSized(c *objects.Collection, visit func(*objects.Vertical, *objects.Workload, objects.Container)) {
	for _, w := range c.Workloads {
		for _, v := range c.VerticalsOf(w) {
			for _, container := range w.Containers() {
				visit(v, w, container)
			}
		}
	}
}

var sized = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// isGuaranteed reports whether each container limits both resources to what it requests.
func isGuaranteed(w *objects.Workload) bool {
	for _, container := range w.Containers() {
		for _, name := range sized {
			limit, limited := container.Resources.Limits[name]
			request, requested := container.Resources.Requests[name]
			if !limited || requested && limit.Cmp(request) != 0 {
				return false
			}
		}
	}
	return len(w.Containers()) > 0
}

func checkGuaranteed(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		if !c.IsAutoscaled(w) || !isGuaranteed(w) {
			continue
		}
		p := patch(&w.Object)
		for _, container := range w.Containers() {
			p.Operations = append(p.Operations, withoutLimit(w, container).Operations...)
		}
		found = append(found, Finding{
			Object: &w.Object, Field: w.TemplateField.In("spec", "containers"),
			Why:    "Every container's limits equal its requests, so the pods are throttled and killed at what they request even on an idle node.",
			Remedy: "The patch takes the CPU limits away; keep them if throttling is meant.", Patch: p,
		})
	}
	return found
}

// ratio is a limit in percent of its request, where a VPA scales it along.
func ratio(v *objects.Vertical, container objects.Container, name corev1.ResourceName) int64 {
	policy := v.PolicyFor(container.Name)
	request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
	if !policy.Controls(name) || !policy.ScalesLimits() || request.IsZero() || limit.IsZero() {
		return 0
	}
	return int64(limit.AsApproximateFloat64() / request.AsApproximateFloat64() * 100)
}

func checkAbsoluteLimit(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, _ *objects.Workload, container objects.Container) {
		for _, name := range sized {
			percent := ratio(v, container, name)
			if percent < 200 {
				continue
			}
			request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
			why := fmt.Sprintf("Container %s limits %s to %s, %d %% of its request %s, and the limit grows with the request",
				container.Name, name, limit.String(), percent, request.String())
			policy := v.PolicyFor(container.Name)
			if most, ok := policy.MaxAllowed[name]; ok {
				why += fmt.Sprintf(": at maxAllowed %s to %.4g times that", most.String(), float64(percent)/100)
			}
			found = append(found, Finding{
				Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"}, Why: why + ".",
				Patch: setPolicy(v, container.Name, "controlledValues", "RequestsOnly"),
			})
			return // one policy is for both resources
		}
	})
	return found
}

func checkLooseLimit(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		for _, name := range sized {
			percent := ratio(v, container, name)
			if percent <= 120 || percent >= 200 {
				continue
			}
			request := container.Resources.Requests[name]
			field := container.Field.In("resources", "limits", string(name))
			found = append(found, Finding{
				Object: &w.Object, Field: field,
				Why:   fmt.Sprintf("Container %s limits %s to %d %% of its request, and VPA %s keeps that ratio; prefer 105 %% to 120 %%.", container.Name, name, percent, v.Name),
				Patch: patch(&w.Object).set(field, fifthMore(name, request.MilliValue(), request.Value())),
			})
		}
	})
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
