package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// leastMemory is less than any container uses: a smaller target was meant in another unit.
const leastMemory = 1 << 20

// From this part of the request on, pods have used up what they requested before an HPA scales up.
const highUtilization, wholeRequest = 91, 100

func valueRules() []*Rule {
	return []*Rule{
		{
			Name: "fixed-count", Level: Advice, Title: "minReplicas and maxReplicas are the same",
			Why: "An HPA with one possible count never scales, and only looks as if the workload were autoscaled. The rule " +
				"reports no WorkloadAutoscaler with schedules, which may change both.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkFixedCount,
		},
		{
			Name: "memory-target-of-bytes", Level: Error, Title: "A memory target of a few bytes",
			Why: "An averageValue of memory without a unit is in bytes, and one that ends in m is in thousandths of a byte. " +
				"Each pod uses more than that, so the HPA always asks for maxReplicas.",
			Source: "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/",
			Needs:  []string{objects.HPA}, Check: checkMemoryTarget,
		},
		{
			Name: "target-without-headroom", Level: Advice, Title: "A utilization target close to the whole request",
			Why: "An HPA scales up when the pods use 10 % more than the target. With a target of 91 % to 100 % they have then " +
				"used up their request, and nothing is left for the load that comes until new pods are ready. The rule reports " +
				"nothing where behavior.scaleUp.tolerance is set.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkHeadroom,
		},
	}
}

func checkFixedCount(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		least := h.MinReplicas()
		isScheduled := h.Workload != nil && len(h.Workload.Schedules) > 0
		if least != h.Spec.MaxReplicas || isScheduled || isOfKEDA(h) {
			continue
		}
		found = append(found, Finding{
			Object: &h.Object, Field: objects.Field{"spec", "maxReplicas"},
			Why: fmt.Sprintf("minReplicas and maxReplicas are both %d, so the count never changes.", least),
			Remedy: "Raise maxReplicas. If the count is meant to be fixed, delete the " + h.Noun() +
				" and set spec.replicas of the target.",
		})
	}
	return found
}

// isOfKEDA reports whether KEDA makes the HPA: it also scales to zero, or to idleReplicaCount, and back.
func isOfKEDA(h *objects.Horizontal) bool {
	isKEDAs := func(r metav1.OwnerReference) bool { return r.Kind == objects.ScaledObject }
	return h.IsScaledObject || h.Meta != nil && slices.ContainsFunc(h.Meta.OwnerReferences, isKEDAs)
}

func checkMemoryTarget(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for _, t := range resourceTargets(h) {
			value := t.target.AverageValue
			if t.name != corev1.ResourceMemory || value == nil || value.Sign() <= 0 || value.Value() >= leastMemory {
				continue
			}
			f := Finding{
				Object: &h.Object, Field: t.field.In("target", "averageValue"),
				Why: fmt.Sprintf("An averageValue of %s is less memory than any pod uses, so the count is always maxReplicas.",
					value),
				Remedy: "Name what a pod should use, such as 500Mi.",
			}
			proposed := inMebibytes(value)
			if proposed != "" {
				f.Remedy = "Did you mean " + proposed + "?"
			}
			if proposed != "" && !h.IsV1 {
				f.Patch = patch(&h.Object).set(f.Field, proposed)
			}
			found = append(found, f)
		}
	}
	return found
}

// inMebibytes returns the quantity with the same number of Mi; empty if that is not whole, or too large for a pod.
func inMebibytes(value *resource.Quantity) string {
	const mostDigits = 4
	number := strings.TrimRight(value.String(), "kKmi")
	if len(number) > mostDigits || strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return number + "Mi"
}

func checkHeadroom(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for _, u := range utilizations(h) {
			if u.percent < highUtilization || u.percent > wholeRequest || hasOwnTolerance(h) {
				continue
			}
			const proposed = 80
			f := Finding{
				Object: &h.Object, Field: u.field.In("target", "averageUtilization"),
				Why: fmt.Sprintf("Scaling up begins when pods use %d %% of the %s that they request.", u.percent*11/10,
					u.resource),
				Remedy: "Choose a target that leaves room for the load that comes until new pods are ready.",
			}
			if !h.IsV1 {
				f.Patch = patch(&h.Object).set(f.Field, proposed)
			}
			found = append(found, f)
		}
	}
	return found
}

// hasOwnTolerance reports whether scaling up begins elsewhere than 10 % beyond the target.
func hasOwnTolerance(h *objects.Horizontal) bool {
	b := h.Spec.Behavior
	return b != nil && b.ScaleUp != nil && b.ScaleUp.Tolerance != nil
}
