// Package validation validates a HorizontalPodAutoscaler as the API server of Kubernetes 1.37 does on creation, after
// its defaults.
package validation

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The longest times that a behavior may name.
const (
	maxPeriodSeconds        = 1800
	maxStabilizationSeconds = 3600
)

// Validate returns the API server's errors for an HPA of version v2. An object without a namespace is in the one that
// it is applied to.
func Validate(hpa *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	errs := Metadata(hpa.ObjectMeta)
	spec, at := &hpa.Spec, field.NewPath("spec")
	errs = append(errs, replicas(spec, at)...)
	// Only one kind of the core group has a scale.
	isCoreFine := spec.ScaleTargetRef.Kind == "ReplicationController"
	errs = append(errs, reference(&spec.ScaleTargetRef, at.Child("scaleTargetRef"), isCoreFine)...)
	errs = append(errs, metrics(spec, at.Child("metrics"))...)
	if b := spec.Behavior; b != nil {
		errs = append(errs, scalingRules(b.ScaleUp, at.Child("behavior", "scaleUp"))...)
		errs = append(errs, scalingRules(b.ScaleDown, at.Child("behavior", "scaleDown"))...)
	}
	return errs
}

// Metadata returns the API server's errors for any object's metadata.
func Metadata(meta metav1.ObjectMeta) field.ErrorList {
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault
	}
	if meta.Name == "" && meta.GenerateName != "" {
		meta.Name = meta.GenerateName + "x"
	}
	return apivalidation.ValidateObjectMeta(&meta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

func replicas(spec *autoscalingv2.HorizontalPodAutoscalerSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	least := int32(1)
	if spec.MinReplicas != nil {
		least = *spec.MinReplicas
	}
	if least < 0 {
		errs = append(errs, field.Invalid(at.Child("minReplicas"), least, "must be greater than or equal to 0"))
	}
	if spec.MaxReplicas == 0 {
		errs = append(errs, field.Required(at.Child("maxReplicas"), "must be set and greater than 0"))
	} else if spec.MaxReplicas < 0 {
		errs = append(errs, field.Invalid(at.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to 1"))
	}
	if spec.MaxReplicas < least {
		errs = append(errs, field.Invalid(at.Child("maxReplicas"), spec.MaxReplicas,
			fmt.Sprintf("must be greater than or equal to minReplicas, which is %d", least)))
	}
	return errs
}

// reference checks a reference of an HPA. The core group has no name, which a target must have.
func reference(ref *autoscalingv2.CrossVersionObjectReference, at *field.Path, isCoreFine bool) field.ErrorList {
	errs := append(segment(ref.Kind, at.Child("kind"), ""), segment(ref.Name, at.Child("name"), "")...)
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(at.Child("apiVersion"), ref.APIVersion, err.Error()))
	case gv.Group == "" && !isCoreFine:
		errs = append(errs, field.Invalid(at.Child("apiVersion"), ref.APIVersion, "apiVersion must specify API group"))
	}
	return errs
}

// segment checks a text that becomes a part of a path.
func segment(text string, at *field.Path, want string) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(at, want)}
	}
	var errs field.ErrorList
	for _, problem := range content.IsPathSegmentName(text) {
		errs = append(errs, field.Invalid(at, text, problem))
	}
	return errs
}

var (
	selections = []string{
		string(autoscalingv2.DisabledPolicySelect), string(autoscalingv2.MaxChangePolicySelect),
		string(autoscalingv2.MinChangePolicySelect),
	}
	policyTypes = []string{string(autoscalingv2.PercentScalingPolicy), string(autoscalingv2.PodsScalingPolicy)}
)

// scalingRules checks one direction. Absent policies are the defaults; an empty list stays one.
func scalingRules(r *autoscalingv2.HPAScalingRules, at *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if s := r.StabilizationWindowSeconds; s != nil {
		errs = append(errs, within(int64(*s), 0, maxStabilizationSeconds, at.Child("stabilizationWindowSeconds"))...)
	}
	if s := r.SelectPolicy; s != nil && !slices.Contains(selections, string(*s)) {
		errs = append(errs, field.NotSupported(at.Child("selectPolicy"), *s, selections))
	}
	if r.Policies != nil && len(r.Policies) == 0 {
		errs = append(errs, field.Required(at.Child("policies"), "must specify at least one Policy"))
	}
	for i := range r.Policies {
		p, at := &r.Policies[i], at.Child("policies").Index(i)
		if !slices.Contains(policyTypes, string(p.Type)) {
			errs = append(errs, field.NotSupported(at.Child("type"), p.Type, policyTypes))
		}
		if p.Value <= 0 {
			errs = append(errs, field.Invalid(at.Child("value"), p.Value, "must be greater than zero"))
		}
		errs = append(errs, within(int64(p.PeriodSeconds), 1, maxPeriodSeconds, at.Child("periodSeconds"))...)
	}
	if t := r.Tolerance; t != nil && t.Sign() < 0 {
		errs = append(errs, field.Invalid(at.Child("tolerance"), t.String(), "must be greater than or equal to 0"))
	}
	return errs
}

func within(value, least, most int64, at *field.Path) field.ErrorList {
	switch {
	case value < least:
		return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("must be greater than or equal to %d", least))}
	case value > most:
		return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("must be less than or equal to %d", most))}
	}
	return nil
}
