package rules

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func behaviorRules() []*Rule {
	return []*Rule{
		{
			Name: "percent-never-leaves-zero", Level: Error, Title: "Percentages alone cannot leave zero",
			Why: "With minReplicas 0, a rate limit in percent is 0 at zero replicas. The HPA of Kubernetes " +
				"then never starts the first pod. The same applies to selectPolicy Min if any policy is a " +
				"percentage.",
			Source: "https://github.com/kubernetes/enhancements/issues/2021", Needs: []string{objects.HPA},
			Check: checkLeavesZero,
		},
		{
			Name: "percent-only-policy", Level: Advice, Title: "Only percentages at a small replica count",
			Why: "A percentage of a few pods is less than one pod and is rounded up to one. The HPA adds " +
				"one pod per period until the replica count is large. A second policy with a number of " +
				"pods lets it grow faster.",
			Source: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-autoscaling/853-configurable-hpa-scale-velocity",
			Needs:  []string{objects.HPA}, Check: checkPercentOnly,
		},
		{
			Name: "stabilization-outlasts-period", Level: Advice, Title: "Scaling up waits longer than its rate's period",
			Why: "A rate is a number of pods per period. If the stabilization window of scaleUp is longer " +
				"than every period, the load must last longer than the period before the HPA may react: " +
				"the window forbids what the rate allows. For scaleDown that is usual and right.",
			Source: guide + "#defining-an-hpa-resource", Needs: []string{objects.HPA}, Check: checkStabilization,
		},
	}
}

// scaleUp are the rules for scaling up in the spec; nil without any.
func scaleUp(h *objects.Horizontal) *autoscalingv2.HPAScalingRules {
	if h.Spec.Behavior == nil {
		return nil
	}
	return h.Spec.Behavior.ScaleUp
}

var upField = objects.Field{"spec", "behavior", "scaleUp"}

// byPercent reports whether percentages alone limit the rate.
func byPercent(r *autoscalingv2.HPAScalingRules) bool {
	percents := 0
	for _, p := range r.Policies {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			percents++
		}
	}
	isMin := r.SelectPolicy != nil && *r.SelectPolicy == autoscalingv2.MinChangePolicySelect
	return percents > 0 && (percents == len(r.Policies) || isMin)
}

func disabled(r *autoscalingv2.HPAScalingRules) bool {
	return r.SelectPolicy != nil && *r.SelectPolicy == autoscalingv2.DisabledPolicySelect
}

func checkLeavesZero(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		r := scaleUp(h)
		// A WorkloadAutoscaler leaves zero by one replica at least.
		if r == nil || h.MinReplicas() != 0 || disabled(r) || !byPercent(r) || h.Workload != nil {
			continue
		}
		found = append(found, Finding{
			Object: &h.Object, Field: upField.In("policies"),
			Why: "minReplicas is 0, and scaleUp is limited in percent: any percentage of no pods is none, so the first pod " +
				"never comes.",
			Patch: addPods(h, r),
		})
	}
	return found
}

// addPods adds a policy of some pods in the period of the first one.
func addPods(h *objects.Horizontal, r *autoscalingv2.HPAScalingRules) *Patch {
	p := patch(&h.Object)
	p.Operations = append(p.Operations,
		Operation{Op: "add", Path: upField.In("policies").Pointer() + "/-", Value: map[string]any{
			"type": "Pods", "value": 4, "periodSeconds": r.Policies[0].PeriodSeconds,
		}})
	if r.SelectPolicy != nil && *r.SelectPolicy != autoscalingv2.MaxChangePolicySelect {
		p.set(upField.In("selectPolicy"), "Max")
	}
	return p
}

func checkPercentOnly(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		r, least := scaleUp(h), h.MinReplicas()
		if r == nil || least == 0 || disabled(r) || !byPercent(r) {
			continue
		}
		percent := largest(r)
		// A percentage that gives more than one pod at the minimum is no trouble, nor is
		// one of a count that can hardly grow.
		if int64(least)*int64(percent) >= 100 || h.Spec.MaxReplicas-least < 3 {
			continue
		}
		found = append(found, Finding{
			Object: &h.Object, Field: upField.In("policies"),
			Why: fmt.Sprintf("%d %% of %d is less than one pod: from minReplicas %d up to %d the count grows by one in %d s.",
				percent, least, least, (100+percent-1)/percent, r.Policies[0].PeriodSeconds),
			Patch: addPods(h, r),
		})
	}
	return found
}

func largest(r *autoscalingv2.HPAScalingRules) int32 {
	var percent int32
	for _, p := range r.Policies {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			percent = max(percent, p.Value)
		}
	}
	return percent
}

func checkStabilization(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		r := scaleUp(h)
		if r == nil || len(r.Policies) == 0 || r.StabilizationWindowSeconds == nil || disabled(r) {
			continue
		}
		var period int32
		for _, p := range r.Policies {
			period = max(period, p.PeriodSeconds)
		}
		window := *r.StabilizationWindowSeconds
		if window <= period {
			continue
		}
		field := upField.In("stabilizationWindowSeconds")
		found = append(found, Finding{
			Object: &h.Object, Field: field,
			Why: fmt.Sprintf("Scaling up waits until the load has lasted %d s, while its rate counts the pods of %d s.",
				window, period),
			Remedy: "Shorten the window, or make the periods as long as it.", Patch: patch(&h.Object).set(field, period),
		})
	}
	return found
}
