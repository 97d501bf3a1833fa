package rules

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	hpavalidation "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/validation"
)

// refusalsOfScaledObject are what KEDA refuses of its object (apis/keda/v1alpha1/scaledobject_webhook.go and the rules
// of its definition), and what the API server refuses of the HPA that KEDA makes of it.
func refusalsOfScaledObject(h *objects.Horizontal) []Finding {
	errs := append(scaledBounds(h), triggers(h)...)
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
		names[name] = name != ""
	}
	if !hasExternal && h.MinReplicas() == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "minReplicaCount"), 0,
			"must be greater than 0 where all triggers are of type cpu or memory"))
	}
	return errs
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
