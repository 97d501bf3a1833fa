package rules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// evictionRules are about what an eviction of a VPA does.
func evictionRules() []*Rule {
	return []*Rule{
		{
			Name: "vpa-job-evicts", Level: Warning, Title: "A VPA evicts the pods of running Jobs",
			Why: "An evicted pod of a Job begins its work again, and with restartPolicy Never it counts as a failed attempt. " +
				"The next Job gets the recommendation anyway.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkJobVPA,
		},
		{
			Name: "eviction-requirements-void", Level: Warning, Title: "evictionRequirements that never or always hold",
			Why: "The updater asks of each container whether its target is higher, or lower, than its request. It does not " +
				"ask where a container requests no CPU or no memory: then every eviction is allowed. The target of a resource " +
				"that the VPA does not control is zero: never higher, and always lower. All requirements must hold.",
			Source: vpaDocs, Needs: []string{objects.VPA, objects.LimitRange}, Check: checkEvictionRequirements,
		},
		{
			Name: "fixed-heap", Level: Advice, Title: "A VPA sizes the memory of a program with a fixed heap",
			Why: "Java reads -Xmx, or -XX:MaxRAMPercentage and the memory limit, when it starts. With -Xmx more memory is " +
				"never used, and less ends in running out of memory. With a percentage more memory is used after a restart " +
				"only, which mode InPlace does not make. So do Node.js, .NET and VictoriaMetrics with such settings. The " +
				"rule reports none of these where limits stay (RequestsOnly), or where the container's resizePolicy restarts it.",
			Source: guide + "#recommendations-in-a-box", Needs: []string{objects.VPA}, Check: checkFixedHeap,
		},
	}
}

func checkJobVPA(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		ref := v.Spec.TargetRef
		if ref == nil || !slices.Contains([]string{objects.Job, objects.CronJob}, canonical(ref.Kind)) || !v.Evicts() {
			continue
		}
		field := objects.Field{"spec", "updatePolicy", "updateMode"}
		found = append(found, Finding{
			Object: &v.Object, Field: field,
			Why: fmt.Sprintf("Mode %s evicts pods of %s %s while they work, and they begin again.", v.Mode(), ref.Kind,
				ref.Name),
			Patch: patch(&v.Object).set(field, string(vpav1.UpdateModeInitial)),
		})
	}
	return found
}

func checkEvictionRequirements(c *objects.Collection) []Finding {
	var found []Finding
	for _, w := range c.Workloads {
		for _, v := range c.VerticalsOf(w) {
			if !v.Evicts() || v.Spec.UpdatePolicy == nil || len(v.Spec.UpdatePolicy.EvictionRequirements) == 0 {
				continue
			}
			remedy := "Let each container request CPU and memory, and name resources that the VPA controls."
			why := contradiction(v)
			if why != "" {
				remedy = "Take one of both away."
			} else if why = voidRequirement(c, v, w); why == "" {
				continue
			}
			found = append(found, Finding{
				Object: &v.Object, Field: objects.Field{"spec", "updatePolicy", "evictionRequirements"}, Why: why, Remedy: remedy,
			})
		}
	}
	return found
}

// contradiction says which two requirements no pod meets; empty without such.
func contradiction(v *objects.Vertical) string {
	all := v.Spec.UpdatePolicy.EvictionRequirements
	for i, r := range all {
		for _, other := range all[:i] {
			if len(r.Resources) == 1 && slices.Equal(r.Resources, other.Resources) &&
				r.ChangeRequirement != other.ChangeRequirement {
				return fmt.Sprintf("The target of %s cannot be both higher and lower than the request, so no pod is evicted.",
					r.Resources[0])
			}
		}
	}
	return ""
}

// voidRequirement says why the requirements do not decide anything; empty if they do.
func voidRequirement(c *objects.Collection, v *objects.Vertical, w *objects.Workload) string {
	for _, container := range w.Sized() {
		for _, name := range sized {
			if _, ok := c.RequestOf(w, container, name); !ok && sizesAny(v, container.Name) {
				return fmt.Sprintf("Container %s requests no %s, so every eviction is allowed.", container.Name, name)
			}
		}
	}
	for _, r := range v.Spec.UpdatePolicy.EvictionRequirements {
		isControlled := func(name corev1.ResourceName) bool {
			return slices.ContainsFunc(w.Sized(), func(container objects.Container) bool {
				return v.PolicyFor(container.Name).Controls(name)
			})
		}
		if len(w.Sized()) > 0 && !slices.ContainsFunc(r.Resources, isControlled) {
			return fmt.Sprintf("%s is required of %v, of which the VPA controls nothing.", r.ChangeRequirement, r.Resources)
		}
	}
	return ""
}

func checkFixedHeap(c *objects.Collection) []Finding {
	var found []Finding
	eachSized(c, func(v *objects.Vertical, w *objects.Workload, container objects.Container) {
		policy := v.PolicyFor(container.Name)
		if !policy.Controls(corev1.ResourceMemory) {
			return
		}
		f := Finding{Object: &v.Object, Field: objects.Field{"spec", "updatePolicy", "updateMode"}}
		amount := observevertical.HeapAmount(container.Container)
		switch {
		case amount != "":
			f.Field = objects.Field{"spec", "resourcePolicy", "containerPolicies"}
			f.Why = fmt.Sprintf("Container %s of %s %s has a heap of a fixed size (%s), which its memory must fit.",
				container.Name, w.Kind, w.Name, amount)
			f.Remedy = "Let the VPA control its CPU alone, and request memory for the heap and the rest."
			f.Patch = setPolicy(v, container.Name, "controlledResources", rest(policy, corev1.ResourceMemory))
		case observevertical.HeapOfLimit(container.Container) != "" && v.Mode() == vpav1.UpdateModeInPlace &&
			policy.ScalesLimits() && !restartsForMemory(container.Container):
			f.Why = fmt.Sprintf("Container %s of %s %s takes its heap from the memory limit at the start, and mode InPlace "+
				"does not restart it: more memory is given and not used.", container.Name, w.Kind, w.Name)
			f.Remedy = "InPlaceOrRecreate evicts such pods where they need more memory."
			f.Patch = patch(&v.Object).set(f.Field, string(vpav1.UpdateModeInPlaceOrRecreate))
		default:
			return
		}
		found = append(found, f)
	})
	return found
}

// restartsForMemory reports whether a resize of its memory restarts the container.
func restartsForMemory(c *corev1.Container) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.ResourceName == corev1.ResourceMemory && p.RestartPolicy == corev1.RestartContainer
	})
}
