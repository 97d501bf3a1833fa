package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// invalidRules find what the API server or the admission server refuses, or what can do
// nothing.
func invalidRules() []*Rule {
	return []*Rule{
		{
			Name: "invalid-replica-bounds", Level: Error, Title: "An HPA's bounds allow no replica count",
			Why: "maxReplicas must be at least 1, and minReplicas at most maxReplicas. The API server " +
				"refuses the HPA otherwise.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkReplicaBounds,
		},
		{
			Name: "target-not-positive", Level: Error, Title: "A metric's target is not above zero",
			Why: "The HPA divides the measured value by the target. The API server refuses a target of " +
				"zero or below.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkNotPositive,
		},
		{
			Name: "metric-container-missing", Level: Error, Title: "A metric names a container that does not exist",
			Why: "A ContainerResource metric of a container that the pods do not have cannot be computed. " +
				"While one metric fails, the HPA never scales down. Sidecars that are injected later are " +
				"not in the template: ignore this rule then.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkContainerMissing,
		},
		{
			Name: "vpa-without-target", Level: Error, Title: "A VPA has no targetRef",
			Why: "Without a targetRef the VPA has no effect. Selectors belong to v1beta1, which is no " +
				"longer served.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkNoTarget,
		},
		{
			Name: "max-allowed-below-min", Level: Error, Title: "maxAllowed is below minAllowed",
			Why:    "No recommendation can satisfy both. The admission server refuses the VPA.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkMaxBelowMin,
		},
	}
}

func checkReplicaBounds(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		field, why := objects.Field{"spec", "maxReplicas"}, ""
		switch {
		case h.Spec.MaxReplicas < 1:
			why = fmt.Sprintf("maxReplicas is %d.", h.Spec.MaxReplicas)
		case h.MinReplicas() < 0:
			field, why = objects.Field{"spec", "minReplicas"}, fmt.Sprintf("minReplicas is %d.", h.MinReplicas())
		case h.MinReplicas() > h.Spec.MaxReplicas:
			why = fmt.Sprintf("maxReplicas is %d, less than minReplicas, which is %d.", h.Spec.MaxReplicas, h.MinReplicas())
		}
		if why != "" {
			found = append(found, Finding{Object: &h.Object, Field: field,
				Why: why, Remedy: "Say how many pods there may be at most, and at least."})
		}
	}
	return found
}

func checkNotPositive(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for i := range h.Spec.Metrics {
			name, target := targetOf(&h.Spec.Metrics[i])
			if target == nil {
				continue
			}
			if what, value := notPositive(target); what != "" {
				found = append(found, Finding{
					Object: &h.Object, Field: objects.Field{"spec", "metrics", strconv.Itoa(i), name, "target", what},
					Why: fmt.Sprintf("%s is %s.", what, value), Remedy: "Aim at what one pod should use, or bear.",
				})
			}
		}
	}
	return found
}

// targetOf is what a metric aims at, and the name of the field that it is in.
func targetOf(m *autoscalingv2.MetricSpec) (string, *autoscalingv2.MetricTarget) {
	switch {
	case m.Resource != nil:
		return "resource", &m.Resource.Target
	case m.ContainerResource != nil:
		return "containerResource", &m.ContainerResource.Target
	case m.Pods != nil:
		return "pods", &m.Pods.Target
	case m.Object != nil:
		return "object", &m.Object.Target
	case m.External != nil:
		return "external", &m.External.Target
	}
	return "", nil
}

func notPositive(t *autoscalingv2.MetricTarget) (field, value string) {
	if p := t.AverageUtilization; p != nil && *p <= 0 {
		return "averageUtilization", strconv.Itoa(int(*p))
	}
	for name, q := range map[string]*resource.Quantity{"averageValue": t.AverageValue, "value": t.Value} {
		if q != nil && q.Sign() <= 0 {
			return name, q.String()
		}
	}
	return "", ""
}

func checkContainerMissing(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		w := c.TargetOfHorizontal(h)
		if w == nil || len(w.Containers()) == 0 {
			continue
		}
		for i := range h.Spec.Metrics {
			m := h.Spec.Metrics[i].ContainerResource
			if m == nil {
				continue
			}
			if _, is := w.Container(m.Container); is {
				continue
			}
			found = append(found, Finding{
				Object: &h.Object, Field: objects.Field{"spec", "metrics", strconv.Itoa(i), "containerResource", "container"},
				Why:    fmt.Sprintf("%s %s has no container %s.", w.Kind, w.Name, m.Container),
				Remedy: "Name a container of the template.",
			})
		}
	}
	return found
}

func checkNoTarget(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		if v.Spec.TargetRef == nil {
			found = append(found, Finding{
				Object: &v.Object, Field: objects.Field{"spec", "targetRef"}, Why: "There is no targetRef, so it sizes nothing.",
				Remedy: "Name the workload in spec.targetRef.",
			})
		}
	}
	return found
}

func checkMaxBelowMin(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		if v.Spec.ResourcePolicy == nil {
			continue
		}
		for i := range v.Spec.ResourcePolicy.ContainerPolicies {
			found = append(found, maxBelowMin(v, i)...)
		}
	}
	return found
}

// maxBelowMin are the amounts of one policy that leave nothing to recommend.
func maxBelowMin(v *objects.Vertical, policy int) []Finding {
	var found []Finding
	p := &v.Spec.ResourcePolicy.ContainerPolicies[policy]
	for _, name := range slices.Sorted(maps.Keys(p.MinAllowed)) {
		least := p.MinAllowed[name]
		most, bounded := p.MaxAllowed[name]
		if !bounded || most.Cmp(least) >= 0 {
			continue
		}
		found = append(found, Finding{
			Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy",
				"containerPolicies", strconv.Itoa(policy), "maxAllowed", string(name)},
			Why: fmt.Sprintf("maxAllowed of %s is %s, less than minAllowed, which is %s.", name, most.String(),
				least.String()),
			Remedy: "Exchange them, or correct one.",
		})
	}
	return found
}
