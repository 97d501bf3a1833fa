package rules

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// forLong is how long a count must have stood near its maximum.
const forLong = time.Hour

func boundRules() []*Rule {
	return []*Rule{
		{
			Name: "replicas-in-manifest", Level: Warning, Title: "The manifest of an autoscaled workload sets spec.replicas",
			Why: "Every time the manifest is applied, it resets the replica count that the HPA has " +
				"reached. That can remove pods at the worst moment. On a cluster the rule reads what was " +
				"last applied, by kubectl apply or server-side.",
			Source: hpaDocs + "#migrating-deployments-and-statefulsets-to-horizontal-autoscaling", Needs: []string{objects.HPA},
			Check: checkReplicas,
		},
		{
			Name: "single-replica", Level: Advice, Title: "minReplicas is 1",
			Why: "A single pod has no replacement while it is evicted or updated or while its node fails. " +
				"Its load cannot be spread before another pod has started. The availability that you need " +
				"decides the minimum. If one pod is intended, say so with the annotation " + objects.IgnoreAnnotation + ".",
			Source: guide + "#summary", Needs: []string{objects.HPA}, Check: checkSingle,
		},
		{
			Name: "at-maximum", Level: Warning, Title: "The replica count has been at or near maxReplicas for long",
			Why: "At its maximum an HPA cannot react to a rising load. The rule reports a replica count of " +
				"at least 90 % of maxReplicas that has not changed for an hour. It needs the status, " +
				"which only a cluster has.",
			Source: guide + "#summary", Needs: []string{objects.HPA}, Check: checkAtMaximum,
		},
	}
}

func checkReplicas(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		autoscalers := c.HorizontalsOf(w)
		if len(autoscalers) == 0 || w.Kind == objects.ReplicaSet && len(w.Meta.OwnerReferences) > 0 {
			continue
		}
		count, manager, ok := appliedReplicas(c, w)
		isFixed := autoscalers[0].MinReplicas() == count && autoscalers[0].Spec.MaxReplicas == count
		if !ok || isFixed {
			continue
		}
		f := Finding{
			Object: &w.Object, Field: objects.Field{"spec", "replicas"},
			Why: fmt.Sprintf(
				"The manifest sets %s, and %s sets %s: applying it undoes what the %s did.",
				counted(count, "replica"), autoscalers[0].Describe(), rangeOf(autoscalers[0]), autoscalers[0].Noun()),
			Remedy: "Where kubectl apply has set it before, take it out of what was last applied too (kubectl apply " +
				"edit-last-applied), " +
				"or the next apply sets the count to 1 once.",
		}
		if c.IsCluster {
			f.Why = fmt.Sprintf(
				"%s applied spec.replicas: %d, and %s sets %s: the next time undoes what the %s did.",
				manager, count, autoscalers[0].Describe(), rangeOf(autoscalers[0]), autoscalers[0].Noun())
			f.Remedy = "Take it out of the manifest, and first out of what was last applied (kubectl apply " +
				"edit-last-applied). Do not patch it away: that would set the count to 1."
		} else {
			f.Patch = patch(&w.Object).remove(f.Field).local()
		}
		found = append(found, f)
	}
	return found
}

// rangeOf is what an HPA sets the count to: "between 2 and 10", or "2".
func rangeOf(h *objects.Horizontal) string {
	if least := h.MinReplicas(); least < h.Spec.MaxReplicas {
		return fmt.Sprintf("between %d and %d", least, h.Spec.MaxReplicas)
	}
	return fmt.Sprint(h.Spec.MaxReplicas)
}

// appliedReplicas is the count that a manifest sets. In a cluster every workload has
// one; managedFields show whether it was applied.
func appliedReplicas(c *objects.Collection, w *objects.Workload) (count int32, manager string, ok bool) {
	if w.Replicas == nil {
		return 0, "", false
	}
	if !c.IsCluster {
		return *w.Replicas, "", true
	}
	var last struct {
		Spec struct {
			Replicas *int32 `json:"replicas"`
		} `json:"spec"`
	}
	err := utiljson.Unmarshal([]byte(w.Meta.Annotations[corev1.LastAppliedConfigAnnotation]), &last)
	if err == nil && last.Spec.Replicas != nil {
		return *last.Spec.Replicas, "kubectl apply", true
	}
	for i := range w.Meta.ManagedFields {
		m := &w.Meta.ManagedFields[i]
		if m.Operation == "Apply" && m.Subresource == "" && m.FieldsV1 != nil &&
			strings.Contains(m.FieldsV1.GetRawString(), `"f:replicas"`) {
			return *w.Replicas, m.Manager, true
		}
	}
	return 0, "", false
}

func checkSingle(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		if h.MinReplicas() != 1 || h.Spec.MaxReplicas <= 1 {
			continue
		}
		field := objects.Field{"spec", "minReplicas"}
		how := "is 1"
		if h.Spec.MinReplicas == nil {
			how = "is not set, which means 1"
		}
		found = append(found, Finding{
			Object: &h.Object, Field: field,
			Why: fmt.Sprintf("minReplicas %s: at low load a single pod serves, and nothing while it is replaced.", how),
			Remedy: "If one is enough, say so: annotate the " + h.Noun() + " with " + objects.IgnoreAnnotation +
				"=single-replica.",
			Patch: patch(&h.Object).set(field, 2),
		})
	}
	return found
}

func checkAtMaximum(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		most, now := h.Spec.MaxReplicas, h.Status.CurrentReplicas
		last := h.Status.LastScaleTime
		// Where minimum and maximum are the same, the count is meant to be there.
		if last == nil || c.Now.Sub(last.Time) < forLong || int64(now)*10 < int64(most)*9 || h.MinReplicas() >= most {
			continue
		}
		field := objects.Field{"spec", "maxReplicas"}
		found = append(found, Finding{
			Object: &h.Object, Field: field,
			Why: fmt.Sprintf("The count is %d of at most %d, and has not changed for %s.", now, most,
				strings.TrimSuffix(c.Now.Sub(last.Time).Round(time.Minute).String(), "0s")),
			Remedy: "Look first whether the load is real and the quota suffices.",
			Patch:  patch(&h.Object).set(field, most+(most+1)/2),
		})
	}
	return found
}
