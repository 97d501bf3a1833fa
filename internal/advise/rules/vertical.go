package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func verticalRules() []*Rule {
	return []*Rule{
		{
			Name: "vpa-initial-request-missing", Level: Warning, Title: "No initial request under a VPA that evicts",
			Why: "Until the VPA has a recommendation, the pod runs without a request and is below every " +
				"lower bound. It is evicted as soon as there is a recommendation. If the VPA's webhook " +
				"does not answer, new pods start without a request again. The rule reports nothing where " +
				"best-effort does.",
			Source: guide + "#summary", Needs: []string{objects.VPA, objects.LimitRange}, Check: checkInitialMissing,
		},
		{
			Name: "request-below-min-allowed", Level: Warning, Title: "The initial request is below minAllowed",
			Why: "No recommendation is below minAllowed. So the pod is below the lower bound from the " +
				"start, and is evicted at once.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkBelowMinAllowed,
		},
		{
			Name: "request-below-recommender-minimum", Level: Advice,
			Title: "The initial request is below the recommender's minimum",
			Why: "Upstream's recommender recommends at least 25m and 250Mi for a pod, divided by its " +
				"containers (--pod-recommendation-min-cpu-millicores, " +
				"--pod-recommendation-min-memory-mb). A pod that requests less is evicted as soon as " +
				"there is a recommendation. If your recommender has other minima (the guide's has 10m and " +
				"10Mi), ignore this rule. Where the status of any VPA has a lower recommendation, the rule reports nothing.",
			Source: guide + "#summary", Needs: []string{objects.VPA}, Check: checkBelowRecommender,
		},
		{
			Name: "vpa-daemonset-evicts", Level: Advice, Title: "A VPA evicts the pods of a DaemonSet",
			Why: "No PodDisruptionBudget protects a DaemonSet's pods. They differ from node to node, but " +
				"all get one recommendation. For pods that a node needs, apply recommendations to new " +
				"pods only.",
			Source: guide + "#defining-a-vpa-resource", Needs: []string{objects.VPA}, Check: checkDaemonSetVPA,
		},
		{
			Name: "vpa-single-replica", Level: Advice, Title: "A VPA that never evicts a single pod",
			Why: "Upstream's updater ignores workloads with fewer than two pods (--min-replicas). A " +
				"recommendation reaches such a pod only when something else restarts it. This is the most " +
				"common reason why a VPA seems to do nothing. updatePolicy.minReplicas allows it, at the " +
				"price of an outage while the pod restarts.",
			Source: vpaIssues + "1665", Needs: []string{objects.VPA, objects.HPA}, Check: checkSingleVPA,
		},
		{
			Name: "update-mode-auto", Level: Advice, Title: "updateMode Auto is deprecated",
			Why: "Auto means Recreate and will be removed. Set the mode that you mean: Recreate or " +
				"InPlaceOrRecreate.",
			Source: vpaIssues + "8424", Needs: []string{objects.VPA}, Check: checkModeAuto,
		},
	}
}

func checkInitialMissing(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		if _, ok := c.RequestOf(s.w, s.container, s.name); ok || !s.v.Evicts() || isBestEffort(c, s.w) {
			continue
		}
		field := s.request()
		value, remedy := suggest(c, s.w, s.container.Name, s.name)
		if least, ok := s.policy.MinAllowed[s.name]; ok {
			value, remedy = least.String(), "The value is the VPA's minAllowed."
		}
		found = append(found, Finding{
			Object: s.w.TemplateObject, Field: field, Remedy: remedy, Patch: patch(s.w.TemplateObject).set(field, value),
			Why: fmt.Sprintf("Container %s requests no %s, so VPA %s evicts the pod as soon as it recommends some.",
				s.container.Name, s.name, s.v.Name),
		})
	}
	return found
}

func checkBelowMinAllowed(c *objects.Collection) []Finding {
	var found []Finding
	for _, s := range sizings(c) {
		request, ok := s.container.Resources.Requests[s.name]
		least, limit, bounded := s.reachable(c)
		if !ok || !bounded || !s.v.Evicts() || request.Cmp(least) >= 0 {
			continue
		}
		than := fmt.Sprintf("VPA %s's minAllowed %s: the pod is evicted at once.", s.v.Name, least.String())
		if limit != nil {
			than = fmt.Sprintf("its limit %s, to which VPA %s's minAllowed raises it: the pod is evicted at once.",
				limit.String(), s.v.Name)
		}
		found = append(found, s.raise(least, than))
	}
	return found
}

// recommenderLeast is what upstream's recommender recommends for a pod at least.
var recommenderLeast = map[corev1.ResourceName]int64{corev1.ResourceCPU: 25, corev1.ResourceMemory: 250 << 20}

func checkBelowRecommender(c *objects.Collection) []Finding {
	if recommendsLess(c) {
		return nil
	}
	var found []Finding
	for _, s := range sizings(c) {
		request, ok := s.container.Resources.Requests[s.name]
		least := s.leastRecommended()
		own, bounded := s.policy.MinAllowed[s.name]
		// Below minAllowed is another rule's.
		if !ok || !s.v.Evicts() || request.Cmp(least) >= 0 || bounded && request.Cmp(own) < 0 {
			continue
		}
		found = append(found, s.raise(least, fmt.Sprintf(
			"the %s that the recommender recommends at least by default: VPA %s evicts the pod at once.", least.String(),
			s.v.Name)))
	}
	return found
}

// recommendsLess reports whether any VPA shows that the recommender has other minima: before its bounds, it
// recommends less than the least for a pod.
func recommendsLess(c *objects.Collection) bool {
	for _, v := range c.Verticals {
		w := c.TargetOfVertical(v)
		if v.Status.Recommendation == nil || w == nil {
			continue
		}
		for i := range v.Status.Recommendation.ContainerRecommendations {
			target := v.Status.Recommendation.ContainerRecommendations[i].UncappedTarget
			isLess := func(name corev1.ResourceName) bool {
				q, ok := target[name]
				return ok && !q.IsZero() && q.Cmp(leastRecommended(v, w, name)) < 0
			}
			if slices.ContainsFunc(sized, isLess) {
				return true
			}
		}
	}
	return false
}

// leastRecommended is what the recommender recommends for the container at least by default.
func (s *sizing) leastRecommended() resource.Quantity {
	least := leastRecommended(s.v, s.w, s.name)
	if most, bounded := s.policy.MaxAllowed[s.name]; bounded && most.Cmp(least) < 0 {
		return most
	}
	return least
}

// leastRecommended is one container's part of the least for a pod.
func leastRecommended(v *objects.Vertical, w *objects.Workload, name corev1.ResourceName) resource.Quantity {
	sharing := int64(0)
	for _, container := range w.Containers() {
		if v.PolicyFor(container.Name).Controls(name) {
			sharing++
		}
	}
	share := recommenderLeast[name] / max(sharing, 1)
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(share, resource.DecimalSI)
	}
	return resource.MustParse(quantity(name, share))
}

func checkDaemonSetVPA(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		ref := v.Spec.TargetRef
		// InPlaceOrRecreate evicts only where a resize is impossible, so the owner chose that.
		if ref == nil || ref.Kind != objects.DaemonSet || !v.Evicts() || v.Mode() == vpav1.UpdateModeInPlaceOrRecreate {
			continue
		}
		field := objects.Field{"spec", "updatePolicy", "updateMode"}
		found = append(found, Finding{
			Object: &v.Object, Field: field,
			Why: fmt.Sprintf("Mode %s evicts the pods of DaemonSet %s, which no PodDisruptionBudget protects.", v.Mode(),
				ref.Name),
			Patch: patch(&v.Object).set(field, "Initial"),
		})
	}
	return found
}

func checkSingleVPA(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		count, known := least(c, w)
		// What an HPA scales has one pod only for a while.
		if !known || count != 1 || len(c.HorizontalsOf(w)) > 0 {
			continue
		}
		for _, v := range c.VerticalsOf(w) {
			if !v.Evicts() || v.Spec.UpdatePolicy != nil && v.Spec.UpdatePolicy.MinReplicas != nil {
				continue
			}
			field := objects.Field{"spec", "updatePolicy", "minReplicas"}
			found = append(found, Finding{
				Object: &v.Object, Field: field,
				Why: fmt.Sprintf("%s %s has one pod, and the updater evicts none of fewer than two by default.", w.Kind, w.Name),
				Remedy: "The pod is then away while it restarts. Where it must not be, give the workload a second replica, or " +
					"set mode Initial, which changes pods only when they are made.",
				Patch: evictingSingle(v),
			})
		}
	}
	return found
}

// evictingSingle lets the updater evict a single pod. An updatePolicy without a mode is refused.
func evictingSingle(v *objects.Vertical) *Patch {
	policy := objects.Field{"spec", "updatePolicy"}
	if v.Spec.UpdatePolicy == nil {
		return patch(&v.Object).set(policy, map[string]any{"updateMode": string(v.Mode()), "minReplicas": int64(1)})
	}
	return patch(&v.Object).set(policy.In("minReplicas"), 1)
}

func checkModeAuto(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		p := v.Spec.UpdatePolicy
		if p == nil || p.UpdateMode == nil || *p.UpdateMode != vpav1.UpdateModeAuto {
			continue
		}
		field := objects.Field{"spec", "updatePolicy", "updateMode"}
		found = append(found, Finding{
			Object: &v.Object, Field: field, Why: "updateMode is Auto, which is deprecated and means Recreate.",
			Patch: patch(&v.Object).set(field, string(vpav1.UpdateModeRecreate)),
		})
	}
	return found
}
