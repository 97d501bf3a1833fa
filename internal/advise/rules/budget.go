package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

func budgetRules() []*Rule {
	return []*Rule{
		{
			Name: "no-disruption-budget", Level: Advice, Title: "An autoscaled workload has no PodDisruptionBudget",
			Why: "Node drains, the cluster autoscaler and a VPA evict pods. A PodDisruptionBudget limits " +
				"how many at once. The rule skips workloads with one pod, where a budget cannot help, and " +
				"DaemonSets, whose evictions are not counted.",
			Source: guide + "#vertical-pod-autoscaler-vpa", Needs: []string{objects.PDB}, Check: checkNoBudget,
		},
		{
			Name: "budget-forbids-eviction", Level: Warning, Title: "A PodDisruptionBudget forbids every eviction",
			Why: "No node can be drained then, and no VPA can evict a pod that needs more. minAvailable " +
				"equal to the HPA's minReplicas has that effect whenever the load is low. A percentage is rounded up: 80 % of " +
				"2 pods are 2. The API server also refuses to evict a pod that two PodDisruptionBudgets select.",
			Source: pdbDocs, Needs: []string{objects.PDB}, Check: checkForbids,
		},
		{
			Name: "budget-keeps-unhealthy", Level: Advice,
			Title: "A PodDisruptionBudget keeps unhealthy pods of a VPA's workload",
			Why: "A pod that runs out of memory repeatedly may not be evicted once the budget is used up, " +
				"unless unhealthyPodEvictionPolicy is AlwaysAllow. So it never gets the memory that the " +
				"VPA recommends.",
			Source: vpaIssues + "4284", Needs: []string{objects.PDB, objects.VPA}, Check: checkUnhealthy,
		},
	}
}

// least is how many pods the workload has at low load; false where it is not known.
func least(c *objects.Collection, w *objects.Workload) (int32, bool) {
	for _, h := range c.HorizontalsOf(w) {
		return h.MinReplicas(), true
	}
	switch {
	case w.Kind == objects.DaemonSet || w.Kind == objects.Job || w.Kind == objects.CronJob:
		return 0, false
	case w.Replicas == nil:
		return 1, true
	}
	return *w.Replicas, true
}

func checkNoBudget(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		count, known := least(c, w)
		if !c.IsAutoscaled(w) || !known || count < 2 || len(c.BudgetsOf(w)) > 0 || len(w.Template.Labels) == 0 {
			continue
		}
		where := "among these files"
		if c.IsCluster {
			where = "in namespace " + w.Namespace
		}
		found = append(found, Finding{
			Object: &w.Object, Field: w.TemplateField.In("metadata", "labels"),
			Why:   fmt.Sprintf("No PodDisruptionBudget %s selects its pods, of which there are at least %d.", where, count),
			Patch: &Patch{Object: &w.Object, Create: budget(w)},
		})
	}
	return found
}

func budget(w *objects.Workload) map[string]any {
	selector := w.Value(objects.Field{"spec", "selector"})
	if selector == nil {
		selector = w.TemplateObject.Value(objects.Field{"spec", "selector"})
	}
	metadata := map[string]any{"name": w.Name}
	if namespace := w.NamedNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{
		"apiVersion": "policy/v1", "kind": objects.PDB, "metadata": metadata,
		"spec": map[string]any{
			"maxUnavailable": int64(1), "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow",
		},
	}
}

func checkForbids(c *objects.Collection) []Finding {
	found := checkTwoBudgets(c)
	for _, b := range c.Budgets {
		field, why := forbids(c, b)
		if why == "" {
			continue
		}
		spec := objects.Field{"spec"}
		found = append(found, Finding{
			Object: &b.Object, Field: spec.In(field), Why: why,
			Patch: patch(&b.Object).remove(spec.In("minAvailable")).set(spec.In("maxUnavailable"), 1),
		})
	}
	return found
}

// refusedBudget are the API server's errors for a budget: see ValidatePodDisruptionBudgetSpec in pkg/apis/policy of
// k8s.io/kubernetes.
func refusedBudget(b *objects.Budget) field.ErrorList {
	spec := field.NewPath("spec")
	errs := append(validAmount(b.Spec.MinAvailable, spec.Child("minAvailable")),
		validAmount(b.Spec.MaxUnavailable, spec.Child("maxUnavailable"))...)
	if b.Spec.MinAvailable != nil && b.Spec.MaxUnavailable != nil {
		errs = append(errs, field.Forbidden(spec.Child("maxUnavailable"), "may not be set beside minAvailable"))
	}
	policies := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && !slices.Contains(policies, *p) {
		errs = append(errs, field.NotSupported(spec.Child("unhealthyPodEvictionPolicy"), *p, policies))
	}
	return errs
}

// validAmount checks a number of pods, or a percentage of them.
func validAmount(amount *intstr.IntOrString, at *field.Path) field.ErrorList {
	switch {
	case amount == nil:
	case amount.Type == intstr.Int && amount.IntVal < 0:
		return field.ErrorList{field.Invalid(at, amount.IntVal, "must be greater than or equal to 0")}
	case amount.Type == intstr.String && len(validation.IsValidPercent(amount.StrVal)) > 0:
		return field.ErrorList{field.Invalid(at, amount.StrVal, "must be a whole number, or a percentage such as 50%")}
	case amount.Type == intstr.String:
		if percent, err := strconv.Atoi(strings.TrimSuffix(amount.StrVal, "%")); err != nil || percent > 100 {
			return field.ErrorList{field.Invalid(at, amount.StrVal, "must not be greater than 100%")}
		}
	}
	return nil
}

// checkTwoBudgets finds pods that two budgets select.
func checkTwoBudgets(c *objects.Collection) []Finding {
	var found []Finding
	reported := map[*objects.Budget]bool{}
	for _, w := range c.Workloads {
		budgets := c.BudgetsOf(w)
		for i := 1; i < len(budgets) && c.Root(w) == w; i++ {
			if reported[budgets[i]] || !areApplied(c, budgets[0], budgets[i]) {
				continue
			}
			reported[budgets[i]] = true
			found = append(found, Finding{
				Object: &budgets[i].Object, Field: objects.Field{"spec", "selector"},
				Why: fmt.Sprintf("PodDisruptionBudget %s selects the pods of %s %s too: no pod with two budgets may be evicted.",
					budgets[0].Name, w.Kind, w.Name),
				Remedy: "Delete one of both, or let each select other pods.",
			})
		}
	}
	return found
}

// areApplied reports whether both are surely in one namespace: files without namespaces may be of two releases.
func areApplied(c *objects.Collection, one, other *objects.Budget) bool {
	return c.IsCluster || one.NamedNamespace() != "" && one.NamedNamespace() == other.NamedNamespace() ||
		one.Place.File == other.Place.File
}

// forbids says why a budget forbids every eviction, and by which field.
func forbids(c *objects.Collection, b *objects.Budget) (field, why string) {
	if most := b.Spec.MaxUnavailable; most != nil {
		if most.String() == "0" || most.String() == "0%" {
			return "maxUnavailable", fmt.Sprintf("maxUnavailable is %s: no pod may ever be evicted.", most)
		}
		return "", ""
	}
	if b.Spec.MinAvailable == nil {
		return "", ""
	}
	if b.Spec.MinAvailable.Type == intstr.String && b.Spec.MinAvailable.StrVal == "100%" {
		return "minAvailable", "minAvailable is 100%: no pod may ever be evicted."
	}
	for _, w := range c.Covered(b) {
		count, known := least(c, w)
		// At zero pods there is none to evict.
		if !known || !isAlone(c, b, w) || count <= 0 {
			continue
		}
		// As the disruption controller does, a part of a pod counts as one.
		need, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, int(count), true)
		if err != nil || int64(need) < int64(count) {
			continue
		}
		return "minAvailable", fmt.Sprintf("minAvailable is %s, and %s %s has %s%s: then %s be evicted.",
			percentOf(b.Spec.MinAvailable, need, count), w.Kind, w.Name, counted(count, "pod"), whenLow(c, w), noneOf(count))
	}
	return "", ""
}

// counted is "1 pod" or "2 pods".
func counted(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func noneOf(pods int32) string {
	if pods == 1 {
		return "it may never"
	}
	return "none of them may"
}

// percentOf writes an amount of pods, and what a percentage is of so many.
func percentOf(amount *intstr.IntOrString, need int, of int32) string {
	if amount.Type == intstr.Int {
		return amount.String()
	}
	return fmt.Sprintf("%s, which of %d is rounded up to %d", amount, of, need)
}

// isAlone reports whether the budget is for the pods of this workload and no other's.
func isAlone(c *objects.Collection, b *objects.Budget, w *objects.Workload) bool {
	for _, o := range c.Covered(b) {
		if c.Root(o) != c.Root(w) {
			return false
		}
	}
	return c.Root(w) == w
}

func whenLow(c *objects.Collection, w *objects.Workload) string {
	if hs := c.HorizontalsOf(w); len(hs) > 0 {
		return fmt.Sprintf(" at %s's minReplicas", hs[0].Describe())
	}
	return ""
}

func checkUnhealthy(c *objects.Collection) []Finding {
	var found []Finding
	reported := map[*objects.Budget]bool{}
	for _, w := range c.Workloads {
		verticals := c.VerticalsOf(w)
		if len(verticals) == 0 || verticals[0].Mode() == vpav1.UpdateModeInitial {
			continue
		}
		for _, b := range c.BudgetsOf(w) {
			if reported[b] || b.Spec.UnhealthyPodEvictionPolicy != nil &&
				*b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow {
				continue
			}
			reported[b] = true
			field := objects.Field{"spec", "unhealthyPodEvictionPolicy"}
			found = append(found, Finding{
				Object: &b.Object, Field: field,
				Why: fmt.Sprintf(
					"VPA %s sizes the pods of %s %s; one that is not ready may be evicted only while the budget allows it.",
					verticals[0].Name, w.Kind, w.Name),
				Patch: patch(&b.Object).set(field, "AlwaysAllow"),
			})
		}
	}
	return found
}
