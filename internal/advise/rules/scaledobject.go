package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	hpavalidation "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/validation"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// refusalsOfScaledObject are what KEDA refuses of its object (apis/keda/v1alpha1/scaledobject_webhook.go and the rules
// of its definition), and what the API server refuses of the HPA that KEDA makes of it.
func refusalsOfScaledObject(h *objects.Horizontal) []Finding {
	errs := append(scaledBounds(h), triggers(h)...)
	errs = append(errs, refusedNames(h)...)
	errs = append(errs, refusedFallback(h.Scaled)...)
	errs = append(errs, hpavalidation.Validate(madeByKEDA(h))...)
	found := refusals(&h.Object, errs, nil)
	for i := range found {
		found[i].Remedy = "Correct it: KEDA does not scale the target otherwise."
	}
	return found
}

// madeByKEDA is the HPA, with bounds and types of targets that are always valid, as those of the ScaledObject are
// checked themselves. Which targets external metrics have, KEDA knows.
func madeByKEDA(h *objects.Horizontal) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *h.Meta, Spec: *h.Spec.DeepCopy()}
	hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = nil, 1
	for i := range hpa.Spec.Metrics {
		m := &hpa.Spec.Metrics[i]
		if m.External != nil {
			m.External.Metric.Name = "external"
		}
		if target, allowed := targetOf(m); m.External != nil || !slices.Contains(allowed, target.Type) {
			*target = autoscalingv2.MetricTarget{
				Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI),
			}
		}
	}
	return hpa
}

func scaledBounds(h *objects.Horizontal) field.ErrorList {
	var errs field.ErrorList
	spec, least, most := field.NewPath("spec"), h.MinReplicas(), h.Spec.MaxReplicas
	if least < 0 {
		errs = append(errs, field.Invalid(spec.Child("minReplicaCount"), least, "must be greater than or equal to 0"))
	}
	if most < 1 {
		errs = append(errs, field.Invalid(spec.Child("maxReplicaCount"), most, "must be greater than or equal to 1"))
	}
	if most < least {
		errs = append(errs, field.Invalid(spec.Child("maxReplicaCount"), most,
			fmt.Sprintf("must be greater than or equal to minReplicaCount, which is %d", least)))
	}
	// The HPA has at least 1.
	if h.Has(objects.Field{"spec", "minReplicaCount"}) {
		least = max(least, 1)
	}
	idle, isSet := h.Value(objects.Field{"spec"})["idleReplicaCount"].(int64)
	if isSet && (idle < 0 || idle >= int64(least)) {
		errs = append(errs, field.Invalid(spec.Child("idleReplicaCount"), idle,
			fmt.Sprintf("must be at least 0 and less than minReplicaCount, which is %d", least)))
	}
	return errs
}

// averages are the types of target of a trigger that is no resource.
var averages = []autoscalingv2.MetricTargetType{autoscalingv2.AverageValueMetricType, autoscalingv2.ValueMetricType}

// resourceTypes are those of a trigger of CPU or memory.
var resourceTypes = []autoscalingv2.MetricTargetType{
	autoscalingv2.AverageValueMetricType, autoscalingv2.UtilizationMetricType,
}

func triggers(h *objects.Horizontal) field.ErrorList {
	at := field.NewPath("spec", "triggers")
	if len(h.Spec.Metrics) == 0 {
		return field.ErrorList{field.Required(at, "must have a trigger")}
	}
	var errs field.ErrorList
	names, hasExternal := map[string]bool{}, false
	for i := range h.Spec.Metrics {
		m := &h.Spec.Metrics[i]
		hasExternal = hasExternal || m.External != nil
		target, allowed := targetOf(m)
		if !slices.Contains(allowed, target.Type) {
			errs = append(errs, field.NotSupported(at.Index(i).Child("metricType"), target.Type, allowed))
		}
		name, _ := h.Value(objects.Field{"spec", "triggers", fmt.Sprint(i)})["name"].(string)
		if names[name] {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), name))
		}
		errs = append(errs, refusedTrigger(&h.Scaled.Triggers[i], at.Index(i))...)
		names[name] = name != ""
		// With a formula the HPA has none of the targets.
		if h.Scaled.Advanced == nil || len(h.Scaled.Advanced.ScalingModifiers) == 0 {
			errs = append(errs, refusedMetadata(&h.Scaled.Triggers[i], at.Index(i).Child("metadata"))...)
		}
	}
	if !hasExternal && h.MinReplicas() == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "minReplicaCount"), 0,
			"must be greater than 0 where all triggers are of type cpu or memory"))
	}
	return errs
}

// refusedTrigger is what KEDA refuses of a trigger beside its metadata. A type that resembles none of KEDA's may be of
// another version.
func refusedTrigger(t *scaledobject.Trigger, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Type == "" {
		errs = append(errs, field.Required(at.Child("type"), ""))
	}
	if near := misspeltType(t.Type); len(near) > 0 {
		errs = append(errs, field.Invalid(at.Child("type"), t.Type, fmt.Sprintf(
			"KEDA %s has no trigger of this type, but %s", scaledobject.Version, cmderror.Or(near))))
	}
	if t.UseCachedMetrics && (t.IsResource() || t.Type == scaledobject.TypeCron) {
		errs = append(errs, field.Forbidden(at.Child("useCachedMetrics"), "not supported by triggers of type "+t.Type))
	}
	return errs
}

// misspeltType returns the types of triggers of which this one is a misspelling; none if KEDA has the type.
func misspeltType(name string) []string {
	return slices.DeleteFunc(scaledobject.NearestTypes(name), func(near string) bool {
		return !strings.EqualFold(near, name) && !isMisspelling(strings.ToLower(name), near)
	})
}

// unexaminedTriggers are those of which nothing, or not all, is known here.
func unexaminedTriggers(h *objects.Horizontal) []Unexamined {
	if h.Scaled == nil {
		return nil
	}
	var all []Unexamined
	for i := range h.Scaled.Triggers {
		kind := h.Scaled.Triggers[i].Type
		u := Unexamined{Object: &h.Object, Target: "trigger " + kind}
		_, isExamined := scaledobject.Thresholds[kind]
		switch {
		case isExamined, kind == "", kind == scaledobject.TypeCron, h.Scaled.Triggers[i].IsResource(),
			len(misspeltType(kind)) > 0:
			continue
		case slices.Contains(scaledobject.Types, kind):
			u.Why = "what KEDA requires of triggers of this type is not known"
		default:
			u.Why = fmt.Sprintf("KEDA %s has no triggers of this type", scaledobject.Version)
		}
		all = append(all, u)
	}
	return all
}

// targetOf is the target of a trigger's metric, and which types it may have.
func targetOf(m *autoscalingv2.MetricSpec) (*autoscalingv2.MetricTarget, []autoscalingv2.MetricTargetType) {
	switch {
	case m.Resource != nil:
		return &m.Resource.Target, resourceTypes
	case m.ContainerResource != nil:
		return &m.ContainerResource.Target, resourceTypes
	}
	return &m.External.Target, averages
}

// refusedMetadata is what KEDA refuses of a trigger's metadata (pkg/scalers), and the targets of 0 that the API server
// refuses of the HPA.
func refusedMetadata(t *scaledobject.Trigger, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	need := func(names ...string) {
		for _, name := range names {
			if t.Metadata[name] == "" {
				errs = append(errs, field.Required(at.Child(name), ""))
			}
		}
	}
	switch t.Type {
	case scaledobject.TypeCron:
		need("timezone", "start", "end", "desiredReplicas")
		if len(errs) > 0 {
			return errs
		}
		if _, err := time.LoadLocation(t.Metadata["timezone"]); err != nil {
			errs = append(errs, field.Invalid(at.Child("timezone"), t.Metadata["timezone"],
				"must be the name of a time zone in the IANA database"))
		}
		if _, err := scaledobject.CronOf(t.Metadata["start"], t.Metadata["end"]); err != nil {
			errs = append(errs, field.Invalid(at, t.Metadata["start"]+" to "+t.Metadata["end"], err.Error()))
		}
		if n, err := strconv.ParseInt(t.Metadata["desiredReplicas"], 10, 64); err != nil || n == 0 {
			errs = append(errs, field.Invalid(at.Child("desiredReplicas"), t.Metadata["desiredReplicas"],
				"must be a whole number other than 0"))
		}
	case scaledobject.TypePrometheus:
		need("serverAddress", "query", "threshold")
	case scaledobject.TypeCPU, scaledobject.TypeMemory:
		if t.Metadata["type"] != "" {
			errs = append(errs, field.Forbidden(at.Child("type"), "KEDA 2.18 and newer read metricType of the trigger instead"))
		}
	}
	name := scaledobject.Thresholds[t.Type].Target
	if text := t.Metadata[name]; text != "" {
		if n, err := strconv.ParseFloat(text, 64); err != nil || n <= 0 {
			errs = append(errs, field.Invalid(at.Child(name), text, "must be a number greater than 0"))
		}
	}
	return errs
}

// refusedNames are names from which KEDA cannot make that of the HPA and its labels.
func refusedNames(h *objects.Horizontal) field.ErrorList {
	const prefix = "keda-hpa-"
	most, own := validation.LabelValueMaxLength-len(prefix), ""
	if a := h.Scaled.Advanced; a != nil && a.HorizontalPodAutoscalerConfig != nil {
		own = a.HorizontalPodAutoscalerConfig.Name
	}
	var errs field.ErrorList
	if own != "" {
		most = validation.LabelValueMaxLength
	}
	if len(own) > validation.LabelValueMaxLength {
		errs = append(errs, field.TooLong(field.NewPath("spec", "advanced", "horizontalPodAutoscalerConfig", "name"), own,
			validation.LabelValueMaxLength))
	}
	if len(h.Name) > most {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), h.Name, most))
	}
	return errs
}

func refusedFallback(s *scaledobject.Spec) field.ErrorList {
	at, f := field.NewPath("spec", "fallback"), s.Fallback
	isFormula := s.Advanced != nil && len(s.Advanced.ScalingModifiers) > 0
	switch {
	case f == nil:
	case f.FailureThreshold < 0 || f.Replicas < 0:
		return field.ErrorList{field.Invalid(at, fmt.Sprintf("%d, %d", f.FailureThreshold, f.Replicas),
			"failureThreshold and replicas must be greater than or equal to 0")}
	case !isFormula && !slices.ContainsFunc(s.Triggers, func(t scaledobject.Trigger) bool { return !t.IsResource() }):
		return field.ErrorList{field.Forbidden(at, "needs a trigger that is not of type cpu or memory")}
	}
	return nil
}
