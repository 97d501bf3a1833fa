package rules

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/crdschema"
	vpastatus "github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/scheduled"
	hpavalidation "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/validation"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	vpavalidation "github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// invalidRules find what the API server or the admission server refuses, or what can do
// nothing.
func invalidRules() []*Rule {
	return []*Rule{
		{
			Name: "refused-by-api-server", Level: Error, Title: "The API server refuses the object",
			Why: "What Kubernetes 1.37 refuses of an HPA or a PodDisruptionBudget, and what the definitions and the " +
				"admission server refuse of a VerticalPodAutoscaler or a WorkloadAutoscaler: values out of bounds, metrics " +
				"without a target or with another metric's, types that do not exist. Whoever applies the object gets the " +
				"same errors. A cluster may hold such an object from before; then no change of it is accepted until this is " +
				"corrected. Of a ScaledObject it is what KEDA refuses, and what the API server refuses of the HPA that KEDA " +
				"makes of it.",
			Source: hpaDocs, Check: checkRefused,
		},
		{
			Name: "metric-container-missing", Level: Error, Title: "A metric names a container that does not exist",
			Why: "A ContainerResource metric of a container that the pods do not have cannot be computed. " +
				"While one metric fails, the HPA never scales down. Sidecars that are injected later are " +
				"not in the template. The rule knows those of Istio, Linkerd, Dapr and Vault where the pods' labels or " +
				"annotations ask for them; ignore it for others.",
			Source: hpaDocs, Needs: []string{objects.HPA}, Check: checkContainerMissing,
		},
		{
			Name: "resource-not-measured", Level: Error, Title: "A metric of a resource that nothing measures",
			Why: "metrics.k8s.io has CPU and memory of containers, and nothing else. A Resource or ContainerResource " +
				"metric of anything else never has a value, whatever the pods request. Use a Pods or an External metric.",
			Source: "https://github.com/kubernetes-sigs/metrics-server/issues/1623", Needs: []string{objects.HPA},
			Check: checkNotMeasured,
		},
		{
			Name: "vpa-without-target", Level: Error, Title: "A VPA has no targetRef",
			Why: "Without a targetRef the VPA has no effect. Selectors belong to v1beta1, which is no " +
				"longer served.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkNoTarget,
		},
		{
			Name: "policy-container-missing", Level: Warning, Title: "A VPA's policy is for a container that does not exist",
			Why: "Its bounds hold for no container. Containers without a policy of their own, and without one for *, are " +
				"sized without bounds: a policy for one container does not leave out the others. A VPA does not size init " +
				"containers, and sidecars that are injected later are not in the template: ignore this rule then.",
			Source: vpaIssues + "7491", Needs: []string{objects.VPA}, Check: checkPolicyContainer,
		},
		{
			Name: "policy-leaves-out-all", Level: Warning, Title: "A VPA's policies leave out all containers",
			Why: "A container with mode Off, or without controlledResources, gets no recommendation. Without any, a VPA does " +
				"nothing, and its condition RecommendationProvided is False. To see recommendations without changes of pods, set " +
				"updateMode Off.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkAllLeftOut,
		},
		{
			Name: "policy-repeated", Level: Warning, Title: "A VPA has two policies for one container",
			Why:    "The first one for a name counts, and the last one for *. The other has no effect.",
			Source: vpaDocs, Needs: []string{objects.VPA}, Check: checkPolicyRepeated,
		},
	}
}

func checkRefused(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		switch {
		case h.IsScaledObject:
			found = append(found, refusalsOfScaledObject(h)...)
		case h.Workload != nil:
			errs := custom(&h.Object)
			if len(errs) == 0 {
				errs = refusedSchedules(h)
			}
			found = append(found, refusals(&h.Object, errs, nil)...)
		default:
			found = append(found, refusalsOfHPA(h)...)
		}
	}
	for _, b := range c.Budgets {
		found = append(found, refusals(&b.Object, refusedBudget(b), nil)...)
	}
	for _, v := range c.Verticals {
		errs := custom(&v.Object)
		if len(errs) == 0 {
			_, errs = vpavalidation.Validate(&vpav1.VerticalPodAutoscaler{ObjectMeta: *v.Meta, Spec: *v.Spec}, nil,
				vpavalidation.Features{CPUStartupBoost: true, PerVPAConfig: true, InPlace: true})
		}
		found = append(found, refusals(&v.Object, errs, nil)...)
	}
	return found
}

// custom is what is refused of a custom resource by its definition. One of another version has another definition.
func custom(o *objects.Object) field.ErrorList {
	errs, err := crdschema.Validate(context.Background(), o.Raw)
	if err != nil {
		// The definitions are compiled in, and are tested.
		panic(err)
	}
	return append(hpavalidation.Metadata(*o.Meta), withoutRepetition(errs)...)
}

// withoutRepetition keeps one of the errors about each quantity that is written as a number with a fraction. A
// definition has several of them: one for each type that the field may have, and one that names no field.
func withoutRepetition(errs field.ErrorList) field.ErrorList {
	isFraction := map[string]bool{}
	for _, err := range errs {
		if strings.Contains(err.Detail, "must be of type integer,string") && !isFraction[err.Field] {
			isFraction[err.Field] = true
		}
	}
	if len(isFraction) == 0 {
		return errs
	}
	var kept field.ErrorList
	for _, err := range errs {
		is, known := isFraction[err.Field]
		switch {
		case known && is:
			isFraction[err.Field] = false
			kept = append(kept, &field.Error{Type: field.ErrorTypeInvalid, Field: err.Field, BadValue: field.OmitValueType{},
				Detail: "must be a whole number or a string: put a number with a fraction in quotes"})
		case !known && !strings.Contains(err.Detail, "(anyOf)") && !strings.Contains(err.Detail, "Checked value must be"):
			kept = append(kept, err)
		}
	}
	return kept
}

// refusedSchedules are what the controller refuses of those that a definition cannot compute, such as one that never
// starts.
func refusedSchedules(h *objects.Horizontal) field.ErrorList {
	var errs field.ErrorList
	for i := range h.Workload.Schedules {
		_, problems := scheduled.Of(&h.Workload.Schedules[i], field.NewPath("spec", "schedules").Index(i))
		errs = append(errs, problems...)
	}
	return errs
}

func refusalsOfHPA(h *objects.Horizontal) []Finding {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *h.Meta, Spec: *h.Spec}
	return refusals(&h.Object, hpavalidation.Validate(hpa), func(f objects.Field) (objects.Field, *Patch) {
		ref := objects.Field{"spec", "scaleTargetRef", "apiVersion"}
		if group, ok := groups[h.Spec.ScaleTargetRef.Kind]; ok && slices.Equal(f, ref) {
			return f, patch(&h.Object).set(ref, group)
		}
		if i, kind := typeOfMetric(h, f); kind != "" {
			return f, patch(&h.Object).set(objects.Field{"spec", "metrics", strconv.Itoa(i), "type"}, kind)
		}
		return h.OwnField(f), nil
	})
}

// typeOfMetric is the metric that a type is refused of, and the type that its only source has; empty if it is not about
// that.
func typeOfMetric(h *objects.Horizontal, refused objects.Field) (index int, kind string) {
	if h.IsV1 || len(refused) != 4 || refused[1] != "metrics" || refused[3] != "type" {
		return 0, ""
	}
	index, err := strconv.Atoi(refused[2])
	if err != nil || index >= len(h.Spec.Metrics) {
		return 0, ""
	}
	m, sources := &h.Spec.Metrics[index], 0
	for source, isSet := range map[autoscalingv2.MetricSourceType]bool{
		autoscalingv2.ResourceMetricSourceType: m.Resource != nil, autoscalingv2.PodsMetricSourceType: m.Pods != nil,
		autoscalingv2.ContainerResourceMetricSourceType: m.ContainerResource != nil,
		autoscalingv2.ObjectMetricSourceType:            m.Object != nil,
		autoscalingv2.ExternalMetricSourceType:          m.External != nil,
	} {
		if isSet {
			kind, sources = string(source), sources+1
		}
	}
	if sources != 1 {
		return 0, ""
	}
	return index, kind
}

// refusals makes findings of errors: one for each field. Its field may have another name in the object, and a patch.
func refusals(
	o *objects.Object, errs field.ErrorList, mend func(objects.Field) (objects.Field, *Patch),
) []Finding {
	var found []Finding
	at := map[string]int{}
	for _, err := range errs {
		if text, isText := err.BadValue.(string); isText && strings.Contains(text, "${") {
			continue // A variable of Flux or of a shell, which is replaced before the API server sees it.
		}
		where := objects.ParseField(err.Field)
		why := err.ErrorBody() + "."
		if i, known := at[err.Field]; known {
			found[i].Why += " " + why
			continue
		}
		at[err.Field] = len(found)
		f := Finding{Object: o, Field: where, Why: why, Remedy: "Correct it: whoever applies the object gets this error."}
		if mend != nil {
			f.Field, f.Patch = mend(where)
		}
		if slices.Contains(f.Field, "annotations") && !slices.Equal(f.Field, where) {
			f.Why = where.String() + ": " + f.Why
		}
		found = append(found, f)
	}
	return found
}

func checkNotMeasured(c *objects.Collection) []Finding {
	var found []Finding
	for _, h := range c.Horizontals {
		for i, m := range h.Metrics() {
			source, name := "resource", corev1.ResourceName("")
			switch {
			case m.Resource != nil:
				name = m.Resource.Name
			case m.ContainerResource != nil:
				source, name = "containerResource", m.ContainerResource.Name
			}
			if name == "" || slices.Contains(sized, name) {
				continue
			}
			f := Finding{
				Object: &h.Object, Field: objects.Field{"spec", "metrics", strconv.Itoa(i), source, "name"},
				Why:    fmt.Sprintf("Nothing measures %s of pods for metrics.k8s.io, so this metric never has a value.", name),
				Remedy: "Scale by a Pods or an External metric of it, or by CPU or memory.",
			}
			if lower := corev1.ResourceName(strings.ToLower(string(name))); slices.Contains(sized, lower) && !h.IsV1 {
				f.Remedy, f.Patch = "", patch(&h.Object).set(f.Field, string(lower))
			}
			found = append(found, f)
		}
	}
	return found
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
			if _, is := w.Container(m.Container); is || isAdded(w, m.Container) {
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
			f := Finding{
				Object: &v.Object, Field: objects.Field{"spec", "targetRef"}, Why: "There is no targetRef, so it sizes nothing.",
				Remedy: "Name the workload in spec.targetRef.",
			}
			// An HPA's field.
			other := objects.Field{"spec", "scaleTargetRef"}
			if ref := v.Value(other); ref != nil {
				f.Why = "The target is in spec.scaleTargetRef, which a VPA does not have, so it sizes nothing."
				f.Remedy, f.Patch = "", patch(&v.Object).set(f.Field, ref).remove(other)
			}
			found = append(found, f)
		}
	}
	return found
}

func eachPolicy(c *objects.Collection, visit func(*objects.Vertical, objects.Field, *vpav1.ContainerResourcePolicy)) {
	for _, v := range c.Verticals {
		if v.Spec.ResourcePolicy == nil {
			continue
		}
		for i := range v.Spec.ResourcePolicy.ContainerPolicies {
			field := objects.Field{"spec", "resourcePolicy", "containerPolicies", strconv.Itoa(i)}
			visit(v, field, &v.Spec.ResourcePolicy.ContainerPolicies[i])
		}
	}
}

func checkPolicyContainer(c *objects.Collection) []Finding {
	var found []Finding
	eachPolicy(c, func(v *objects.Vertical, field objects.Field, p *vpav1.ContainerResourcePolicy) {
		w := c.TargetOfVertical(v)
		isOff := p.Mode != nil && *p.Mode == vpav1.ContainerScalingModeOff
		isOther := p.ContainerName == vpav1.DefaultContainerResourcePolicy || p.ContainerName == "" // which is refused
		if w == nil || len(w.Sized()) == 0 || isOther || isOff {
			return
		}
		if slices.ContainsFunc(w.Sized(), func(c objects.Container) bool { return c.Name == p.ContainerName }) {
			return
		}
		why := fmt.Sprintf("%s %s has no container %s, so the policy holds for none", w.Kind, w.Name, p.ContainerName)
		isNamed := func(i corev1.Container) bool { return i.Name == p.ContainerName }
		if slices.ContainsFunc(w.Template.Spec.InitContainers, isNamed) {
			why = fmt.Sprintf("Container %s is an init container, which a VPA does not size", p.ContainerName)
		}
		var unbounded []string
		for _, container := range w.Sized() {
			if v.PolicyFor(container.Name).Field == nil {
				unbounded = append(unbounded, container.Name)
			}
		}
		if len(unbounded) > 0 {
			why += "; sized without bounds: " + strings.Join(unbounded, ", ")
		}
		found = append(found, Finding{Object: &v.Object, Field: field.In("containerName"), Why: why + ".",
			Remedy: "Name a container of the template, or * for all."})
	})
	return found
}

func checkAllLeftOut(c *objects.Collection) []Finding {
	var found []Finding
	for _, v := range c.Verticals {
		w := c.TargetOfVertical(v)
		if w == nil || w.LacksTemplate() {
			continue
		}
		var names []string
		for _, container := range w.Sized() {
			names = append(names, container.Name)
		}
		if !vpastatus.LeavesOutAll(observevertical.PoliciesOf(v.Spec), names) {
			continue
		}
		found = append(found, Finding{
			Object: &v.Object, Field: objects.Field{"spec", "resourcePolicy", "containerPolicies"},
			Why:    fmt.Sprintf("For %s %s %s.", w.Kind, w.Name, vpastatus.AllLeftOut),
			Remedy: "Let it size a container, or delete it. With updateMode Off it recommends and changes no pod.",
		})
	}
	return found
}

func checkPolicyRepeated(c *objects.Collection) []Finding {
	counts := map[string]objects.Field{}
	key := func(v *objects.Vertical, p *vpav1.ContainerResourcePolicy) string {
		return v.Key() + " " + p.ContainerName
	}
	eachPolicy(c, func(v *objects.Vertical, field objects.Field, p *vpav1.ContainerResourcePolicy) {
		if _, known := counts[key(v, p)]; !known || p.ContainerName == vpav1.DefaultContainerResourcePolicy {
			counts[key(v, p)] = field
		}
	})
	var found []Finding
	eachPolicy(c, func(v *objects.Vertical, field objects.Field, p *vpav1.ContainerResourcePolicy) {
		if one := counts[key(v, p)]; !slices.Equal(one, field) {
			found = append(found, Finding{
				Object: &v.Object, Field: field,
				Why:    fmt.Sprintf("%s is for container %s too, and counts; this one has no effect.", one, p.ContainerName),
				Remedy: "Make one of both.",
			})
		}
	})
	return found
}
