package rules

import (
	"fmt"
	"slices"

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
		{
			Name: "scales-down-faster", Level: Advice, Title: "Scaling down is faster than scaling up",
			Why: "Pods that are missing harm more than pods too many. With a shorter stabilization window for scaleDown, " +
				"300 s by default, than for scaleUp, or none and no rate below all pods, each short dip of the load removes pods " +
				"that are needed again, and have to start first.",
			Source: guide + "#defining-an-hpa-resource", Needs: []string{objects.HPA}, Check: checkDownFaster,
		},
		{
			Name: "value-of-backlog", Level: Advice, Title: "Target type Value for a backlog",
			Why: "With type Value the replica count is multiplied by the ratio of value to target, at each decision. That " +
				"fits what halves when the pods double, such as a latency. The length of a queue does not fall at once, so " +
				"the count is multiplied again and again until maxReplicas. AverageValue divides the length by the target: " +
				"one pod for so many messages. The rule goes by the names of metrics, the queries to Prometheus, and the " +
				"types of KEDA's triggers.",
			Source: "https://github.com/kedacore/keda/issues/5781", Needs: []string{objects.HPA}, Check: checkValueOfBacklog,
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
		// A WorkloadAutoscaler leaves zero by one replica at least, and KEDA by itself.
		if r == nil || h.MinReplicas() != 0 || disabled(r) || !byPercent(r) || h.Workload != nil || h.IsScaledObject {
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

// defaultDownSeconds is how long scaling down waits unless the HPA says otherwise.
const defaultDownSeconds = 300

func checkDownFaster(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		b := h.Spec.Behavior
		if b == nil || b.ScaleDown != nil && disabled(b.ScaleDown) || b.ScaleUp != nil && disabled(b.ScaleUp) {
			continue
		}
		up, down := window(b.ScaleUp, 0), window(b.ScaleDown, defaultDownSeconds)
		why := ""
		switch {
		case down < up:
			why = fmt.Sprintf("Scaling down waits %d s, and scaling up %d s.", down, up)
		case down == 0 && removesAll(h, b.ScaleDown):
			why = "Scaling down does not wait, and may remove all pods above the minimum at once."
		default:
			continue
		}
		field := objects.Field{"spec", "behavior", "scaleDown", "stabilizationWindowSeconds"}
		found = append(found, Finding{Object: &h.Object, Field: field, Why: why,
			Remedy: "A window of some minutes keeps the pods over a short dip.",
			Patch:  patch(&h.Object).set(field, max(up, defaultDownSeconds))})
	}
	return found
}

// window is how long a direction waits.
func window(r *autoscalingv2.HPAScalingRules, byDefault int32) int32 {
	if r == nil || r.StabilizationWindowSeconds == nil {
		return byDefault
	}
	return *r.StabilizationWindowSeconds
}

// removesAll reports whether the rate lets all pods above the minimum go in one period.
func removesAll(h *objects.Horizontal, r *autoscalingv2.HPAScalingRules) bool {
	allows := func(p autoscalingv2.HPAScalingPolicy) bool {
		return p.Type == autoscalingv2.PercentScalingPolicy && p.Value >= 100 ||
			p.Type == autoscalingv2.PodsScalingPolicy && p.Value >= h.Spec.MaxReplicas-h.MinReplicas()
	}
	if h.Spec.MaxReplicas <= h.MinReplicas() {
		return false
	}
	if r.SelectPolicy != nil && *r.SelectPolicy == autoscalingv2.MinChangePolicySelect {
		return !slices.ContainsFunc(r.Policies, func(p autoscalingv2.HPAScalingPolicy) bool { return !allows(p) })
	}
	return len(r.Policies) == 0 || slices.ContainsFunc(r.Policies, allows)
}
